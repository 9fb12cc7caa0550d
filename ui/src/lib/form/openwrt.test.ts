// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import {
  endsHere,
  faultsOf,
  foreignOf,
  forwardsOf,
  isFormed,
  othersOf,
  protocolOf,
  optionText,
} from '../firewall/forwards';
import {
  isIsolated,
  reaches,
  rulesInto,
  rulesOf,
  unzonedNetworks,
  zonesOf,
} from '../firewall/zones';
import { bridgesOf, setAddress, vlansOf } from '../network/matrix';
import { isJumbo, lineOf, portsOf, wansOf } from '../wan/wan';
import { addressesOf } from './addresses';
import { Router } from './change.svelte';
import { Draft } from './draft.svelte';
import type { Section, Value } from './sections';

/** Values that OpenWrt accepts for an option; LuCI writes the first one. */
const values: Record<string, Record<string, readonly string[]>> = {
  defaults: { input: ['REJECT', 'reject', 'drop', 'acc'], forward: ['REJECT', 'ACCEPT', 'accept'] },
  zone: {
    name: ['lan', 'a-b', '_x'],
    network: ['lan', 'wan wan6'],
    input: ['ACCEPT', 'accept', 'Reject', 'd'],
    forward: ['REJECT', 'accept', 'DROP'],
    masq: ['1', 'yes', 'off'],
    subnet: ['10.0.0.0/8', '!10.0.0.0/255.0.0.0'],
  },
  forwarding: { src: ['lan', '*'], dest: ['wan', '*'], enabled: ['1', '0'], family: ['ipv4', '6'] },
  rule: {
    proto: ['tcp', '6', 'tcpudp', 'all', '!udp', 'icmpv6', '50'],
    src: ['wan', '*'],
    dest: ['lan', '*'],
    src_ip: ['10.0.0.1', '10.0.0.0/255.255.255.0', '10.0.0.1-10.0.0.9', '!fd00::/8', 'lan'],
    src_mac: ['aa:bb:cc:dd:ee:ff', 'AA-BB-CC-DD-EE-FF', '!aa:bb:cc:dd:ee:ff'],
    dest_port: ['80', '80-90', '80:90', '!22', '22 80'],
    target: ['ACCEPT', 'accept', 'rej', 'MARK'],
  },
  redirect: {
    name: ['Web', 'it’s "quoted"'],
    proto: ['tcp', 'tcp udp', 'tcpudp', '6', '17', 'icmp', '!tcp', 'any'],
    src: ['wan', '*'],
    src_ip: ['203.0.113.1', '!203.0.113.0/255.255.255.0'],
    src_mac: ['48:A9:8A:00:00:01', '48-a9-8a-00-00-01'],
    src_dport: ['80', '80-90', '!80'],
    dest: ['lan'],
    dest_ip: ['10.0.0.2', '!10.0.0.2'],
    dest_port: ['8080', '8080-8090'],
    target: ['DNAT', 'dnat', 'dn', 'SNAT', 'masq'],
    enabled: ['1', 'no'],
  },
  interface: {
    proto: ['static', 'dhcp', 'pppoe', 'none'],
    device: ['br-lan.10', 'eth0', '@wan', 'wan.35'],
    ipaddr: ['10.0.0.1/24', '10.0.0.1', '10.0.0.1/255.255.255.0', '10.0.0.1 10.0.1.1'],
    netmask: ['255.255.255.0', '24', '255.0.255.0'],
  },
  device: { type: ['bridge', '8021q'], name: ['br-lan', 'wan.35'], ports: ['lan1', 'lan1 lan2'] },
  'bridge-vlan': { device: ['br-lan'], vlan: ['10', '010'], ports: ['lan1', 'lan1:u* lan2:t'] },
};

const fileOf = (type: string) =>
  ['interface', 'device', 'bridge-vlan'].includes(type) ? 'network' : 'firewall';

/** Returns a pseudo-random generator with a fixed sequence per seed. */
function chooser(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 16) % below;
  };
}

/** Returns a text unchanged, as a list of one entry, or as a list of its words. */
function written(text: string, below: (n: number) => number): Value {
  const way = below(3);
  return way === 0 ? text : way === 1 ? [text] : text.split(' ');
}

function generated(seed: number): Record<string, Section[]> {
  const below = chooser(seed);
  const files: Record<string, Section[]> = { firewall: [], network: [] };
  for (const [type, options] of Object.entries(values)) {
    for (let i = below(4); i > 0; i -= 1) {
      const given = Object.entries(options)
        .filter(() => below(4) > 0)
        .map(([option, all]) => [option, written(all[below(all.length)] ?? '', below)]);
      const name = below(2) === 0 ? `${type.replace('-', '_')}${i}` : `cfg0${i}${below(9999)}`;
      const section = { section: name, type, anonymous: name.startsWith('cfg'), values: {} };
      files[fileOf(type)]?.push({ ...section, values: Object.fromEntries(given) });
    }
  }
  return files;
}

async function draftOf(configs: Record<string, Section[]>): Promise<Draft> {
  const request = () => Promise.resolve({ configs });
  const draft = new Draft(new Router({ request } as never));
  await draft.load(Object.keys(configs));
  return draft;
}

function read(draft: Draft): unknown[] {
  const zones = zonesOf(draft);
  return [
    ...zones.flatMap((zone) => [
      zone,
      isIsolated(draft, zone),
      rulesInto(draft, zone),
      ...zones.map((other) => reaches(draft, zone.name, other.name)),
    ]),
    ...[rulesOf(draft), unzonedNetworks(draft), othersOf(draft), wansOf(draft)],
    ...wansOf(draft).map((name) => [
      lineOf(draft, name),
      isJumbo(draft, name),
      portsOf(draft, ['lan1'], name),
    ]),
    ...forwardsOf(draft).map((each) => endsHere(draft, each)),
    ...bridgesOf(draft).flatMap(({ name }) => vlansOf(draft, name)),
    ...draft.all('network', 'interface').map(addressesOf),
  ];
}

describe('values that OpenWrt accepts', () => {
  it('are read without creating an edit', async () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      const draft = await draftOf(generated(seed));
      expect(read(draft)).toBeDefined();
      expect(draft.edits, `seed ${seed}`).toEqual([]);
    }
  });

  it('of redirects are shown in the form or next to it', async () => {
    for (let seed = 1; seed <= 2000; seed += 1) {
      const draft = await draftOf(generated(seed));
      const redirects = draft.all('firewall', 'redirect');
      expect([...forwardsOf(draft), ...othersOf(draft)]).toHaveLength(redirects.length);
      for (const each of forwardsOf(draft)) {
        const beside = foreignOf(each);
        const all = Object.keys(each.values);
        if (!isFormed(each)) expect(beside).toEqual(all);
        else
          for (const option of ['src_ip', 'src_mac']) {
            expect(beside.includes(option)).toBe(all.includes(option));
          }
        for (const option of all) expect(optionText(each, option)).not.toBe('');
      }
    }
  });
});

describe('the page', () => {
  const section = (type: string, values: Section['values'], name = type): Section => ({
    section: name,
    type,
    anonymous: false,
    values,
  });
  let draft: Draft;

  beforeEach(async () => {
    draft = await draftOf({
      firewall: [
        section('defaults', { input: 'accept', forward: 'drop' }),
        section('zone', { name: 'guest', network: 'guest', forward: 'rej' }),
        section('rule', { src: 'wan', dest: 'guest', target: 'accept' }),
      ],
      network: [section('interface', { proto: 'static', ipaddr: ['10.0.0.1', '10.0.1.1/25'] })],
    });
  });

  it('reads policies and targets as fw4 does', () => {
    const [guest] = zonesOf(draft);
    expect(guest).toMatchObject({ input: true, within: false });
    expect(guest && rulesInto(draft, guest)).toHaveLength(1);
    draft.set('firewall', 'zone', { input: 'Rej' });
    expect(zonesOf(draft)[0]?.input).toBe(false);
  });

  it('shows an address with the prefix of its netmask', () => {
    const addresses = (values: Section['values']) => addressesOf(section('interface', values));
    expect(addresses({ ipaddr: '10.0.0.1', netmask: '255.255.255.0' })).toEqual(['10.0.0.1/24']);
    expect(addresses({ ipaddr: ['10.0.0.1'], netmask: ['255.255.240.0'] })).toEqual([
      '10.0.0.1/20',
    ]);
    expect(addresses({ ipaddr: '10.0.0.1/255.255.255.128' })).toEqual(['10.0.0.1/25']);
    expect(addresses({ ipaddr: '10.0.0.1 10.0.1.1/25', netmask: '24' })).toEqual([
      '10.0.0.1/24',
      '10.0.1.1/25',
    ]);
    for (const netmask of ['255.0.255.0', '33', 'x', '']) {
      expect(addresses({ ipaddr: '10.0.0.1', netmask })).toEqual(['10.0.0.1']);
    }
    expect(addressesOf(undefined)).toEqual([]);
  });

  it('keeps the prefix of the other addresses when one is edited', () => {
    draft.set('network', 'interface', { netmask: '255.255.255.0' });
    setAddress(draft, 'interface', '10.0.0.2/24');
    expect(draft.get('network', 'interface')?.values).toEqual({
      proto: 'static',
      ipaddr: ['10.0.0.2/24', '10.0.1.1/25'],
    });
  });

  it('edits a redirect to the router, which has no host', async () => {
    const values = { src: 'wan', src_dport: '443', dest_port: '8443', proto: 'tcp' };
    const own = await draftOf({ firewall: [section('redirect', values)] });
    own.set('firewall', 'redirect', { dest_port: '8444' });
    expect(faultsOf(own)).toEqual([]);
    own.set('firewall', 'redirect', { src_dport: '' });
    expect(faultsOf(own).map(({ option }) => option)).toEqual(['src_dport', 'dest_ip']);
  });

  it('normalises the protocols of a forward', () => {
    const proto = (value: Value) => protocolOf(section('redirect', { proto: value }));
    for (const both of [['udp', 'tcp'], 'tcpudp', 'TCP udp', ['6', '17'], []]) {
      expect(proto(both)).toBe('tcp udp');
    }
    expect(proto('6')).toBe('tcp');
    expect(proto(['tcp', 'icmp'])).toBe('icmp tcp');
    expect(proto('!udp')).toBe('!udp');
  });
});
