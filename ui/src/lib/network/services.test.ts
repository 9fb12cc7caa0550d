// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import type { Section, Value } from '../form/sections';
import { addPool, ownerOf, rangeOf, servedOf, servesIpv4, servesIpv6 } from './services';

const section = (name: string, type: string, values: Record<string, Value>): Section => ({
  section: name,
  type,
  anonymous: false,
  values,
});
async function draftOf(configs: Record<string, readonly Section[]>): Promise<Draft> {
  const draft = new Draft(new Router({ request: () => Promise.resolve({ configs }) } as never));
  await draft.load(Object.keys(configs));
  return draft;
}
const pool = (values: Record<string, Value>) => section('lan', 'dhcp', values);

describe('a pool', () => {
  it('covers the addresses that ipcalc.sh computes', () => {
    const range = (address: string, start: string, limit: string) =>
      rangeOf(address, pool({ start, limit }))?.join(' ');
    expect(rangeOf('10.0.0.1/24', pool({}))).toEqual(['10.0.0.100', '10.0.0.249']);
    expect(range('10.0.0.130/25', '2', '300')).toBe('10.0.0.130 10.0.0.254');
    expect(range('10.0.3.1/22', '300', '10')).toBe('10.0.1.44 10.0.1.53');
    expect(range('192.168.255.1/16', '65530', '9')).toBe('192.168.255.250 192.168.255.254');
    expect(range('223.255.255.1/24', '1', '1')).toBe('223.255.255.1 223.255.255.1');
  });

  it('has no range if it is not inside the network', () => {
    const wrong = [
      ['10.0.0.1/24', '0', '10'],
      ['10.0.0.1/24', '255', '1'],
      ['10.0.0.1/24', '10.0.0.5', '10'],
      ['10.0.0.1/24', '1', '0'],
      ['', '100', '150'],
      ['fd00::1/64', '100', '150'],
    ] as const;
    for (const [address, start, limit] of wrong) {
      expect(rangeOf(address, pool({ start, limit })), `${address} ${start}`).toBeUndefined();
    }
  });

  it('is off if it is ignored, disabled or missing', () => {
    expect(servesIpv4(pool({}))).toBe(true);
    expect(servesIpv4(pool({ ignore: '1' }))).toBe(false);
    expect(servesIpv4(pool({ dhcpv4: 'disabled' }))).toBe(false);
    expect(servesIpv4(undefined)).toBe(false);
    expect([servesIpv6(pool({})), servesIpv6(pool({ ra: 'disabled' }))]).toEqual([false, false]);
    expect([servesIpv6(pool({ ra: 'relay' })), servesIpv6(undefined)]).toEqual([true, false]);
  });
});

describe('the networks with a pool', () => {
  const files = {
    network: [
      section('loopback', 'interface', { proto: 'static', device: 'lo', ipaddr: '127.0.0.1/8' }),
      section('lan', 'interface', {
        proto: 'static',
        device: 'br-lan',
        ipaddr: '10.0.0.1',
        netmask: '255.255.255.0',
      }),
      section('iot', 'interface', { proto: 'static', device: 'br-lan.2', ip6assign: '64' }),
      section('wan', 'interface', { proto: 'pppoe', device: 'eth1' }),
      section('wan6', 'interface', { proto: 'static', device: '@wan' }),
    ],
    firewall: [section('z', 'zone', { name: 'wan', masq: '1', network: ['wan', 'wan6'] })],
    dhcp: [section('anything', 'dhcp', { interface: 'lan' })],
  };

  it('are static interfaces behind the router, with the pool that names them', async () => {
    const draft = await draftOf(files);
    const served = servedOf(draft).map(({ name, address, pool: of }) => [
      name,
      address,
      of?.section,
    ]);
    expect(served).toEqual([
      ['lan', '10.0.0.1/24', 'anything'],
      ['iot', '', undefined],
    ]);
  });

  it('get a pool that serves both IP versions', async () => {
    const draft = await draftOf(files);
    const iot = servedOf(draft)[1];
    if (iot) addPool(draft, iot);
    const added = servedOf(draft)[1]?.pool;
    expect([added?.section, servesIpv4(added), servesIpv6(added)]).toEqual(['iot', true, true]);
    expect(draft.edits.map(({ op }) => op)).toEqual(['add']);
  });
});

it('a reservation is identified by MAC addresses and DUIDs', () => {
  expect(ownerOf(section('a', 'host', { mac: '02:00:00:00:00:01 02:00:00:00:00:02' }))).toBe(
    '02:00:00:00:00:01, 02:00:00:00:00:02',
  );
  expect(ownerOf(section('a', 'host', { duid: ['0001ab'] }))).toBe('0001ab');
});
