// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { Draft } from '../form/draft.svelte';
import { Router } from '../form/change.svelte';
import type { Section } from '../form/sections';
import {
  addVlan,
  editVlan,
  join,
  leaves,
  memberOf,
  removeVlan,
  renameVlan,
  vlansOf,
  wantedOf,
  wrongWith,
} from './matrix';
import type { Member } from './matrix';
import { migrate, perVlanBridges } from './migration';

let last = 0;
const section = (type: string, values: Section['values'], name?: string): Section => ({
  section: name ?? `cfg${(++last).toString(16).padStart(2, '0')}`,
  type,
  anonymous: name === undefined,
  values,
});

const network = () => [
  section('device', { name: 'br-lan', type: 'bridge', ports: ['lan1', 'lan2', 'lan3'] }),
  section('bridge-vlan', { device: 'br-lan', vlan: '20', ports: ['lan2:t'] }),
  section('bridge-vlan', { device: 'br-lan', vlan: '10', ports: ['lan1:u*', 'lan3:u*'] }),
  section('interface', { device: 'br-lan.10', proto: 'static', ipaddr: ['10.0.10.1/24'] }, 'lan'),
  section('interface', { device: 'br-lan.20', proto: 'static', ipaddr: ['10.0.20.1/24'] }, 'iot'),
];
const firewall = () => [
  section('zone', { name: 'lan', network: ['lan'] }),
  section('zone', { name: 'iot', network: ['iot'] }),
  section('zone', { name: 'wan', network: ['wan'], masq: '1' }),
  section('forwarding', { src: 'lan', dest: 'wan' }),
  section('forwarding', { src: 'iot', dest: 'wan' }),
  section('rule', { src: 'lan', dest: 'iot', target: 'ACCEPT' }),
];

async function opened(configs: Record<string, Section[]>): Promise<Draft> {
  const router = new Router({ request: () => Promise.resolve({ configs }) });
  const draft = new Draft(router);
  await draft.load(['network', 'firewall', 'dhcp']);
  return draft;
}

const guest = { vid: '30', name: 'guest', address: '10.0.30.1/24', zone: '+', dhcp: true };
const vlan = (draft: Draft, vid: string) => {
  const found = vlansOf(draft, 'br-lan').find((each) => each.vid === vid);
  if (!found) throw new Error(`no VLAN ${vid}`);
  return found;
};
const said = (draft: Draft) =>
  draft.edits.map((edit) => `${edit.config} ${edit.op} ${JSON.stringify({ ...edit, config: 0 })}`);

it.each([
  { proto: 'dhcp' },
  { proto: 'pppoe', username: 'x' },
  { proto: 'static', ipaddr: '10.0.20.1', netmask: '255.255.255.0' },
  { proto: 'static', ipaddr: ['10.0.20.1/255.255.255.0', '10.0.21.1/24'] },
])('edits the name and zone of a VLAN without changing %o', async (values) => {
  const iot = section('interface', { device: 'br-lan.20', ...values }, 'iot');
  const others = network().filter((each) => each.section !== 'iot');
  const draft = await opened({ network: [...others, iot], firewall: firewall(), dhcp: [] });
  const shown = wantedOf(vlan(draft, '20'));
  editVlan(draft, vlan(draft, '20'), shown);
  expect(draft.edits).toEqual([]);
  editVlan(draft, vlan(draft, '20'), { ...shown, name: 'things', zone: 'lan' });
  expect(draft.get('network', 'things')?.values).toEqual(iot.values);
  expect(vlan(draft, '20').zone?.values['name']).toBe('lan');
});

it('parses netifd’s notation of members', () => {
  expect(['lan1', 'lan1:t', 'lan1:u*', 'lan1:t*'].map(memberOf)).toEqual([
    ['lan1', 'u'],
    ['lan1', 't'],
    ['lan1', 'u*'],
    ['lan1', 't*'],
  ]);
});

describe('the matrix', () => {
  let draft: Draft;
  beforeEach(async () => (draft = await opened({ network: network(), firewall: firewall() })));

  it('shows VLANs by number, with interface and zone', () => {
    const rows = vlansOf(draft, 'br-lan');
    expect(rows.map(({ vid }) => vid)).toEqual(['10', '20']);
    expect(rows[1]?.interface?.section).toBe('iot');
    expect(rows[1]?.zone?.values['name']).toBe('iot');
  });

  it('gives a port only one PVID', () => {
    join(draft, vlan(draft, '20'), 'lan3', 'u*');
    expect(vlan(draft, '10').members.has('lan3')).toBe(false);
    expect(vlan(draft, '20').members.get('lan3')).toBe('u*');
    join(draft, vlan(draft, '10'), 'lan3', 'u*');
    join(draft, vlan(draft, '20'), 'lan3', '');
    expect(draft.edits).toEqual([]);
  });

  it('names the VLAN that a port leaves, and restores it on undo', () => {
    const steps = (...picks: [vid: string, member: Member][]) => {
      for (const [vid, member] of picks) join(draft, vlan(draft, vid), 'lan3', member);
    };
    steps(['20', 't']);
    expect(leaves(draft, vlan(draft, '20'), 'lan3')).toEqual([]);
    steps(['20', 'u*']);
    expect(leaves(draft, vlan(draft, '20'), 'lan3')).toEqual(['10']);
    steps(['20', '']);
    expect(draft.edits).toEqual([]);
    // The order of choices does not matter for an undo.
    steps(['20', 'u*'], ['20', 't'], ['20', 'u*'], ['20', '']);
    expect(draft.edits).toEqual([]);
    addVlan(draft, 'br-lan', guest);
    steps(['20', 'u*'], ['30', 'u*']);
    expect(leaves(draft, vlan(draft, '30'), 'lan3')).toEqual(['20']);
    steps(['30', ''], ['20', '']);
    expect(vlan(draft, '10').members.get('lan3')).toBe('u*');
  });

  it('does not restore a VLAN from which the port was removed', () => {
    join(draft, vlan(draft, '10'), 'lan3', '');
    join(draft, vlan(draft, '20'), 'lan3', 'u*');
    expect(leaves(draft, vlan(draft, '20'), 'lan3')).toEqual([]);
    join(draft, vlan(draft, '20'), 'lan3', '');
    expect(vlan(draft, '10').members.has('lan3')).toBe(false);
  });

  it('restores a tagged membership together with its PVID', () => {
    join(draft, vlan(draft, '10'), 'lan3', 't*');
    join(draft, vlan(draft, '20'), 'lan3', 'u*');
    expect(vlan(draft, '10').members.get('lan3')).toBe('t');
    join(draft, vlan(draft, '20'), 'lan3', '');
    expect(vlan(draft, '10').members.get('lan3')).toBe('t*');
  });

  it('adds a VLAN with interface, addresses and a zone that only reaches the Internet', () => {
    expect(wrongWith(draft, 'br-lan', guest)).toEqual([]);
    addVlan(draft, 'br-lan', guest);
    join(draft, vlan(draft, '30'), 'lan3', 'u*');
    const added = draft.edits.filter((edit) => edit.op === 'add');
    expect(added.map((edit) => `${edit.config} ${edit.op === 'add' ? edit.type : ''}`)).toEqual([
      'network bridge-vlan',
      'network interface',
      'firewall zone',
      'firewall forwarding',
      'firewall rule',
      'firewall rule',
      'firewall rule',
      'firewall rule',
      'dhcp dhcp',
    ]);
    expect(said(draft).join()).toContain('"src":"guest","dest":"wan"');
    expect(vlan(draft, '30').members.get('lan3')).toBe('u*');
  });

  it('configures IPv6 of a new VLAN like OpenWrt’s lan', () => {
    addVlan(draft, 'br-lan', guest);
    expect(draft.get('network', 'guest')?.values).toMatchObject({
      proto: 'static',
      ipaddr: ['10.0.30.1/24'],
      ip6assign: '60',
    });
    expect(draft.get('dhcp', 'guest')?.values).toEqual({
      interface: 'guest',
      start: '100',
      limit: '150',
      leasetime: '12h',
      ra: 'server',
      dhcpv6: 'server',
      ra_flags: ['managed-config', 'other-config'],
    });
    const rules = draft.all('firewall', 'rule').filter((each) => each.values['src'] === 'guest');
    expect(rules.map((each) => each.values['dest_port'])).toEqual(['67', '547', '53', undefined]);
    expect(rules[3]?.values['icmp_type']).toContain('neighbour-solicitation');
  });

  it('configures no IPv6 for a VLAN without a router address', () => {
    addVlan(draft, 'br-lan', { ...guest, address: '' });
    expect(draft.get('network', 'guest')?.values).not.toHaveProperty('ip6assign');
    expect(draft.all('dhcp')).toEqual([]);
  });

  it('refuses invalid numbers, names and addresses', () => {
    const wrong = (change: object) => wrongWith(draft, 'br-lan', { ...guest, ...change });
    for (const vid of ['0', '4095', '-1', '1.5', '', 'x']) expect(wrong({ vid })).toEqual(['vid']);
    expect(wrong({ vid: '20' })).toEqual(['vid.taken']);
    expect(wrong({ name: 'iot' })).toEqual(['name.taken']);
    for (const name of ['', 'Guest', 'a b', '9a', 'abcdefghijkl']) {
      expect(wrong({ name }), name).toEqual(['name']);
    }
    for (const address of ['10.0.0.1', '10.0.0.256/24', '10.0.0.1/33', 'x']) {
      expect(wrong({ address }), address).toEqual(['address']);
    }
  });

  it('renames a VLAN’s interface and the references to it', () => {
    renameVlan(draft, vlan(draft, '20'), 'things');
    expect(draft.edits).toHaveLength(2);
    expect(draft.edits[0]).toMatchObject({ op: 'rename', section: 'iot', name: 'things' });
    expect(draft.edits[1]).toMatchObject({ op: 'set', values: { network: ['things'] } });
  });

  it('removes a VLAN with all sections that only it used', () => {
    removeVlan(draft, vlan(draft, '20'));
    expect(draft.edits.every((edit) => edit.op === 'delete')).toBe(true);
    expect(draft.edits).toHaveLength(5);
  });

  it('needs no migration', () => {
    expect(perVlanBridges(draft)).toEqual([]);
  });
});

it('replaces one bridge per VLAN with a single bridge', async () => {
  const draft = await opened({
    network: [
      section('device', { name: 'br-lan', type: 'bridge', ports: ['lan1', 'lan3'] }),
      section('device', { name: 'br-iot', type: 'bridge', ports: ['lan2.20', 'lan1.20'] }),
      section('device', { name: 'lan2.20', type: '8021q', ifname: 'lan2', vid: '20' }),
      section('interface', { device: 'br-lan', proto: 'static' }, 'lan'),
      section('interface', { device: 'br-iot', proto: 'static' }, 'iot'),
    ],
  });
  expect(perVlanBridges(draft).map(({ name }) => name)).toEqual(['br-lan', 'br-iot']);
  migrate(draft);
  expect(draft.all('network', 'device').map((each) => each.values['ports'])).toEqual([
    ['lan1', 'lan3', 'lan2'],
  ]);
  const [plain, iot] = vlansOf(draft, 'br-lan');
  expect([plain?.vid, plain?.interface?.section]).toEqual(['1', 'lan']);
  expect([...(plain?.members ?? [])]).toEqual([
    ['lan1', 'u*'],
    ['lan3', 'u*'],
  ]);
  expect([iot?.vid, iot?.interface?.section]).toEqual(['20', 'iot']);
  expect([...(iot?.members ?? [])]).toEqual([
    ['lan2', 't'],
    ['lan1', 't'],
  ]);
  expect(perVlanBridges(draft)).toEqual([]);
});
