// SPDX-License-Identifier: GPL-2.0-or-later
/** Encrypted upstream DNS by the packages https-dns-proxy and stubby. */

import type { Draft } from '../form/draft.svelte';
import { isOn, list, MASK, text, type Section } from '../form/sections';
import { resolverOf } from './services';

/** Public resolvers. Their addresses are those of their operators' setup pages. */
export const resolvers = [
  {
    name: 'Cloudflare',
    url: 'https://cloudflare-dns.com/dns-query',
    host: 'one.one.one.one',
    addresses: ['1.1.1.1', '1.0.0.1', '2606:4700:4700::1111', '2606:4700:4700::1001'],
  },
  {
    name: 'Google',
    url: 'https://dns.google/dns-query',
    host: 'dns.google',
    addresses: ['8.8.8.8', '8.8.4.4', '2001:4860:4860::8888', '2001:4860:4860::8844'],
  },
  {
    name: 'Quad9',
    url: 'https://dns.quad9.net/dns-query',
    host: 'dns.quad9.net',
    addresses: ['9.9.9.9', '149.112.112.112', '2620:fe::fe', '2620:fe::9'],
  },
] as const;

const known = (name: string) => resolvers.find((each) => each.name === name);

export const proxiesOf = (draft: Draft): readonly Section[] =>
  draft.all('https-dns-proxy', 'https-dns-proxy');

/** Returns the proxy's address for dnsmasq, as https-dns-proxy.init writes it. */
export function serverOf(draft: Draft, proxy: Section): string {
  const general = draft.all('https-dns-proxy', 'main')[0];
  const address = text(proxy, 'listen_addr', text(general, 'listen_addr', '127.0.0.1'));
  const first = 5053 + proxiesOf(draft).indexOf(proxy);
  return `${address}#${text(proxy, 'listen_port', String(first))}`;
}

export const isAsked = (draft: Draft, server: string): boolean =>
  list(resolverOf(draft), 'server').includes(server);

/** The router shows scheme and host of a URL only, because a path may have a customer's key. */
export const proxiedBy = (proxy: Section): string =>
  resolvers.find(({ url }) =>
    [url, url.replace(/dns-query$/, MASK)].includes(text(proxy, 'resolver_url')),
  )?.name ?? '';

/** Without addresses, the package looks up the resolver's name at its default servers. */
export function proxyTo(draft: Draft, { section }: Section, name: string): void {
  const to = known(name);
  if (!to) return;
  const bootstrap_dns = to.addresses.join(',');
  draft.set('https-dns-proxy', section, { resolver_url: to.url, bootstrap_dns });
}

export const peersOf = (draft: Draft): readonly Section[] => draft.all('stubby', 'resolver');

/** Returns the resolver of all sections of stubby; empty if they differ. */
export function stubbyTo(draft: Draft): string {
  const peers = peersOf(draft);
  const of = resolvers.find(({ host, addresses }) =>
    peers.every(
      (each) =>
        text(each, 'tls_auth_name') === host &&
        addresses.some((address) => address === text(each, 'address')),
    ),
  );
  return peers.length > 0 ? (of?.name ?? '') : '';
}

/** Pinned keys and ports belong to the former resolver. */
export function useInStubby(draft: Draft, name: string): void {
  const to = known(name);
  if (!to) return;
  const peers = peersOf(draft);
  to.addresses.forEach((address, i) => {
    const values = { address, tls_auth_name: to.host };
    const peer = peers[i];
    if (peer) draft.set('stubby', peer.section, { ...values, spki: '', tls_port: '' });
    else draft.add('stubby', 'resolver', values);
  });
  const surplus = peers.slice(to.addresses.length).map(({ section }) => section);
  if (surplus.length > 0) draft.remove('stubby', ...surplus);
}

/** Returns stubby's IPv4 address for dnsmasq. */
export function stubbyServer(draft: Draft): string {
  const addresses = list(draft.all('stubby', 'stubby')[0], 'listen_address');
  return (addresses.find((each) => each.includes('.')) ?? '127.0.0.1@5453').replace('@', '#');
}

export const asksStubby = (draft: Draft): boolean =>
  isAsked(draft, stubbyServer(draft)) && isOn(resolverOf(draft), 'noresolv');

/** Servers of single domains stay. */
export function askStubby(draft: Draft, on: boolean): void {
  const resolver = resolverOf(draft);
  if (!resolver) return;
  const others = list(resolver, 'server').filter((each) => each.startsWith('/'));
  draft.set('dhcp', resolver.section, {
    server: on ? [...others, stubbyServer(draft)] : others,
    noresolv: on ? '1' : '',
  });
}
