// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import type { EngineState, Link, Topology } from '../api/types';
import { layOut, type Box, type Messages } from './layout';
import {
  chainOf,
  heldBy,
  isThroughPort,
  membership,
  networksOf,
  portsOf,
  stateOf,
  vlansOf,
} from './model';

const messages: Messages = {
  internet: 'Internet',
  router: 'Router',
  aware: 'VLAN-aware',
  plain: 'no VLANs',
  vlan: (vids) => `VLAN ${vids}`,
  session: (id) => `session ${id}`,
  ssid: (device) => (device === 'phy0-ap0' ? 'Guests' : ''),
};

const cause: Link['cause'] = { code: '', params: {} };
let index = 0;
function link(name: string, kind: string, more: Partial<Link> = {}): Link {
  const state = { mac: '', mtu: 1500, up: true, carrier: true, master: '', lower: '', vlan: 0 };
  const place = { addresses: ['fe80::1/64'], lowest: false, in_flowtable: false };
  return { index: ++index, name, kind, ...state, ...place, shaped: '', why: '', cause, ...more };
}

function gateway(): Topology {
  const member = { in_flowtable: true, lowest: true };
  return {
    generation: 1,
    links: [
      link('lo', 'loopback', { addresses: ['127.0.0.1/8'] }),
      link('lan1', 'ethernet', { master: 'br-lan', ...member }),
      link('lan2', 'ethernet', { master: 'br-lan', ...member }),
      link('wan', 'ethernet', member),
      link('br-lan', 'bridge'),
      link('br-lan.10', 'vlan', { lower: 'br-lan', vlan: 10, addresses: ['10.10.10.1/24'] }),
      link('br-lan.20', 'vlan', { lower: 'br-lan', vlan: 20, addresses: ['10.10.20.1/24'] }),
      link('wan.35', 'vlan', { lower: 'wan', vlan: 35 }),
      link('pppoe-wan', 'ppp', { lower: 'wan.35', addresses: ['198.51.100.2/32'] }),
    ],
    bridges: [
      {
        name: 'br-lan',
        vlan_filtering: true,
        ports: [
          { name: 'lan1', vlans: [{ vid: 10, tagged: false, pvid: true }] },
          { name: 'lan2', vlans: [{ vid: 20, tagged: true, pvid: false }] },
        ],
      },
    ],
    pppoe: [{ device: 'pppoe-wan', lower: 'wan.35', session: 7, peer: '' }],
    interfaces: [
      { name: 'wan', zone: 'wan', device: 'pppoe-wan', proto: 'pppoe', up: true },
      { name: 'lan', zone: 'lan', device: 'br-lan.10', proto: 'static', up: true },
    ],
    policies: [],
    bridge_flowtable: 'no',
    roaming: [],
    hosts: Array.from({ length: 6 }, (_, i) => ({
      address: `10.10.10.${i + 2}`,
      mac: `02::${i}`,
      name: '',
      device: 'br-lan.10',
      vlan: 10,
      port: 'lan1',
    })).concat({
      address: '2001:db8::2',
      mac: '02::0',
      name: '',
      device: 'br-lan.10',
      vlan: 10,
      port: 'lan1',
    }),
  };
}

describe('model', () => {
  it('follows a device down to its port and stops in a loop', () => {
    const names = (of: Topology, name: string) => chainOf(of, name).map((each) => each.name);
    expect(names(gateway(), 'pppoe-wan')).toEqual(['pppoe-wan', 'wan.35', 'wan']);
    const circle = {
      ...gateway(),
      links: [link('a', 'x', { lower: 'b' }), link('b', 'x', { lower: 'a' })],
    };
    expect(names(circle, 'a')).toEqual(['a', 'b']);
  });

  it('finds the networks and the uplinks among them', () => {
    const found = networksOf(gateway()).map((each) => [each.device, each.uplink]);
    expect(found).toEqual([
      ['br-lan.10', false],
      ['br-lan.20', false],
      ['pppoe-wan', true],
    ]);
  });

  it('names the interface with a zone of several over a device', () => {
    const mape = gateway();
    const own = { name: 'map_', zone: '', proto: 'static', up: true, device: 'pppoe-wan' };
    mape.interfaces.unshift(own);
    expect(networksOf(mape).at(-1)?.interface?.name).toBe('wan');
    mape.interfaces = [own];
    expect(networksOf(mape).at(-1)?.interface?.name).toBe('map_');
  });

  it('draws and counts the ports of a switch, and not its conduit', () => {
    const switched = gateway();
    switched.links.push(link('eth0', 'ethernet', { cause: { ...cause, code: 'conduit' } }));
    switched.links.push(link('lan4', 'dsa', { master: 'br-lan' }));
    expect(portsOf(switched).map((each) => each.name)).toEqual(['lan1', 'lan2', 'wan', 'lan4']);
    expect(networksOf(switched).map((each) => each.device)).not.toContain('eth0');
  });

  it('keeps the uplink’s place while PPPoE is down', () => {
    const down = gateway();
    down.links = down.links.filter((each) => each.name !== 'pppoe-wan');
    down.interfaces = down.interfaces.filter((each) => each.name !== 'wan');
    const uplinks = networksOf(down, ['wan']).filter((each) => each.uplink);
    expect(uplinks.map((each) => each.device)).toEqual(['wan.35']);
  });

  it('lists the VLANs of bridges and devices in order', () => {
    expect(vlansOf(gateway())).toEqual([10, 20, 35]);
    expect(membership(gateway().bridges[0]?.ports[1])).toBe('20t');
    expect(membership(undefined)).toBe('');
  });

  it('distinguishes disabled from unplugged ports', () => {
    expect(stateOf(link('a', 'ethernet'))).toBe('up');
    expect(stateOf(link('a', 'ethernet', { carrier: false }))).toBe('nolink');
    expect(stateOf(link('a', 'ethernet', { up: false, carrier: false }))).toBe('disabled');
  });
});

describe('layout', () => {
  const engine: EngineState = {
    wanted: 'ebpf',
    active: 'ebpf',
    why: '',
    cause: { code: '', params: {} },
    source: 'config',
    devices: [],
    applied_ms: 0,
    packet_rules: [],
    hardware_unused: false,
    hardware_ports: null,
    hardware_full: null,
    hardware_counts: null,
    revocation: { count: 0, flows: 0, at_ms: 0, why: '', cause: { code: '', params: {} } },
  };
  const overlaps = (a: Box, b: Box) =>
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  it('draws every device once, without overlaps and inside the drawing', () => {
    const drawing = layOut(gateway(), ['wan'], messages);
    const names = drawing.boxes.flatMap((box) => (box.link ? [box.link.name] : []));
    const drawable = gateway().links.filter((each) => each.kind !== 'loopback');
    expect(names.sort()).toEqual(drawable.map((each) => each.name).sort());
    for (const [i, box] of drawing.boxes.entries()) {
      expect(box.x + box.width).toBeLessThanOrEqual(drawing.width);
      expect(box.y + box.height).toBeLessThanOrEqual(drawing.height);
      for (const other of drawing.boxes.slice(i + 1)) {
        expect(overlaps(box, other), `${box.id} over ${other.id}`).toBe(false);
      }
    }
  });

  it('labels an access point with its SSID', () => {
    const aired = gateway();
    aired.links = [...aired.links, link('phy0-ap0', 'ethernet', { master: 'br-lan' })];
    const port = layOut(aired, [], messages).boxes.find((box) => box.id === 'phy0-ap0');
    expect(port?.title).toBe('Guests');
    expect(port?.link?.name).toBe('phy0-ap0');
  });

  it('shows the first hosts of a port and the number of others', () => {
    const hosts = layOut(gateway(), [], messages).boxes.find((box) => box.id === 'lan1-hosts');
    expect(hosts?.lines).toEqual(['10.10.10.2', '10.10.10.3', '10.10.10.4', '+ 3']);
  });

  it('draws the fast path only if a device is in the flowtable', () => {
    expect(layOut(gateway(), ['wan'], messages).fastPath).not.toBe('');
    const off = gateway();
    off.links = off.links.map((each) => ({ ...each, in_flowtable: false }));
    expect(layOut(off, ['wan'], messages).fastPath).toBe('');
  });

  it('draws the fast path of eBPF only for ports with a program', () => {
    const mixed = gateway();
    mixed.links = mixed.links.map((each) => ({ ...each, in_flowtable: each.name === 'wan' }));
    const held = heldBy({ ...engine, active: 'ebpf', devices: ['lan1', 'lan2', 'wan'] });
    const drawing = layOut(mixed, ['wan'], messages, held);
    const short = (name: string) => drawing.boxes.find((box) => box.link?.name === name)?.short;
    expect([short('lan1'), short('wan'), short('br-lan')]).toEqual([
      'ebpf',
      'flowtable',
      undefined,
    ]);
    expect(drawing.path).toBe('ebpf');
    expect(heldBy({ ...engine, active: 'flowtable', devices: ['wan'] })).toEqual([]);
    expect(heldBy(undefined)).toEqual([]);
  });

  it('draws only the router if there are no devices', () => {
    const none = {
      links: [],
      bridges: [],
      pppoe: [],
      interfaces: [],
      hosts: [],
      policies: [],
      bridge_flowtable: '' as const,
      roaming: [],
    };
    const empty = { generation: 0, ...none };
    expect(layOut(empty, [], messages).boxes.map((box) => box.kind)).toEqual(['router']);
  });
});

it('includes VLANs, PPPoE and conduits in the fast path through ports, but not loopback', () => {
  const of = (code: string) => isThroughPort({ cause: { ...cause, code } as Link['cause'] });
  expect(['vlan', 'ppp', 'bridge', 'conduit'].map(of)).toEqual([true, true, true, true]);
  expect(['loopback', 'member', 'ppp-unknown', 'unused', 'engine-off'].map(of)).not.toContain(true);
});
