// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import { MASK, type Section, type Value } from '../form/sections';
import {
  askStubby,
  asksStubby,
  isAsked,
  proxiedBy,
  proxiesOf,
  proxyTo,
  serverOf,
  stubbyServer,
  stubbyTo,
  useInStubby,
} from './encrypted';

const section = (name: string, type: string, values: Record<string, Value>): Section => ({
  section: name,
  type,
  anonymous: true,
  values,
});
const files = (servers: string[] = [], more: Record<string, Value> = {}) => ({
  dhcp: [section('dns', 'dnsmasq', { server: servers, ...more })],
  'https-dns-proxy': [
    section('config', 'main', { dnsmasq_config_update: '*' }),
    section('a', 'https-dns-proxy', {
      resolver_url: `https://cloudflare-dns.com/${MASK}`,
      listen_port: '5153',
    }),
    section('b', 'https-dns-proxy', { resolver_url: 'https://dns.example/' }),
  ],
  stubby: [
    section('global', 'stubby', { listen_address: ['0::1@5453', '127.0.0.1@5463'] }),
    section('r', 'resolver', {
      address: '1.1.1.1',
      tls_auth_name: 'one.one.one.one',
      spki: ['sha256/x'],
    }),
  ],
});
async function draftOf(configs: Record<string, readonly Section[]>): Promise<Draft> {
  const draft = new Draft(new Router({ request: () => Promise.resolve({ configs }) } as never));
  await draft.load(Object.keys(configs));
  return draft;
}

describe('https-dns-proxy', () => {
  it('listens where dnsmasq asks it', async () => {
    const draft = await draftOf(files(['127.0.0.1#5153']));
    const servers = proxiesOf(draft).map((each) => serverOf(draft, each));
    expect(servers).toEqual(['127.0.0.1#5153', '127.0.0.1#5054']);
    expect(servers.map((server) => isAsked(draft, server))).toEqual([true, false]);
    expect(proxiesOf(draft).map(proxiedBy)).toEqual(['Cloudflare', '']);
  });

  it('gets URL and addresses of a resolver, and dnsmasq stays', async () => {
    const draft = await draftOf(files());
    for (const proxy of proxiesOf(draft).slice(1)) proxyTo(draft, proxy, 'Quad9');
    expect(proxiesOf(draft).map(proxiedBy)).toEqual(['Cloudflare', 'Quad9']);
    expect(draft.edits).toEqual([
      {
        config: 'https-dns-proxy',
        op: 'set',
        section: 'b',
        values: {
          resolver_url: 'https://dns.quad9.net/dns-query',
          bootstrap_dns: '9.9.9.9,149.112.112.112,2620:fe::fe,2620:fe::9',
        },
      },
    ]);
  });
});

describe('stubby', () => {
  it('gets all addresses of a resolver without the pins of the former one', async () => {
    const draft = await draftOf(files());
    expect(stubbyTo(draft)).toBe('Cloudflare');
    useInStubby(draft, 'Google');
    expect(stubbyTo(draft)).toBe('Google');
    expect(draft.all('stubby', 'resolver').map(({ values }) => values)).toEqual(
      ['8.8.8.8', '8.8.4.4', '2001:4860:4860::8888', '2001:4860:4860::8844'].map((address) => ({
        address,
        tls_auth_name: 'dns.google',
      })),
    );
    useInStubby(draft, '');
    expect(stubbyTo(draft)).toBe('Google');
  });

  it('is the only server, except for single domains', async () => {
    const draft = await draftOf(files(['9.9.9.9', '/lan/10.0.0.1']));
    expect(stubbyServer(draft)).toBe('127.0.0.1#5463');
    expect(asksStubby(draft)).toBe(false);
    askStubby(draft, true);
    expect(draft.get('dhcp', 'dns')?.values).toEqual({
      server: ['/lan/10.0.0.1', '127.0.0.1#5463'],
      noresolv: '1',
    });
    expect(asksStubby(draft)).toBe(true);
    askStubby(draft, false);
    expect(draft.get('dhcp', 'dns')?.values).toEqual({ server: ['/lan/10.0.0.1'] });
  });
});
