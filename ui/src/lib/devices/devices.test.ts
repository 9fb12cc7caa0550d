// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import type { FlowPage, Topology } from '../api/types';
import { Draft } from '../form/draft.svelte';
import type { Section } from '../form/sections';
import { destinationsOf } from './destinations';
import {
  addressesOf,
  devicesOf,
  groupsOf,
  inOrder,
  kbitOf,
  matching,
  mbitText,
  megabytesOf,
  nameOf,
  readView,
  shareOf,
  sorted,
  sortedBy,
  stateOf,
  writeView,
  type Device,
} from './devices';
import * as drafts from './drafts';
import { kindName } from './names';
import * as schedules from './schedules';

const NOW = Date.UTC(2026, 10, 22, 20, 0);

const device = (mac: string, more: Partial<Device> = {}): Device => ({
  ...{ mac, random: false, name: '', addresses: [], device: 'br-lan.10', vlan: 10, port: 'lan1' },
  ...{ learned_ms: NOW - 1000, seen_ms: NOW, flows: 0, offloaded: 0, up_bps: 0, down_bps: 0 },
  ...{ up_bytes: 0, down_bytes: 0, offloaded_bytes: 0 },
  ...{ known: false, kind: '', group: '', paused: '', until_ms: 0, inspect: '' },
  ...{ kind_source: '', vendor: '' },
  ...{ limit_down: 0, limit_up: 0, quota_mb: 0, ...more },
});

const anna = device('02:00:00:00:00:01', {
  ...{ name: "Anna's phone", kind: 'phone', group: 'children', known: true },
  addresses: ['fe80::1', '10.0.0.9', '2001:db8::1', '2001:db8::2', '10.0.0.7'],
  ...{ down_bps: 10, down_bytes: 70, up_bytes: 30, offloaded_bytes: 25 },
});
const nas = device('02:00:00:00:00:02', { name: 'nas', up_bps: 50, up_bytes: 1 });
const unnamed = device('02:00:00:00:00:03', { addresses: ['10.0.0.30'], down_bytes: 900 });
const all = [unnamed, nas, anna];
const macs = (of: readonly Device[]) => of.map(({ mac }) => Number(mac.at(-1)));

describe('devices', () => {
  it('of a daemon that knows no owners are neither known nor paused', () => {
    const { known, kind, group, paused, until_ms, limit_down, limit_up, inspect, ...rest } = anna;
    const owned = [known, kind, group, paused, until_ms, limit_down, limit_up, inspect];
    expect(owned).toHaveLength(8);
    const others = { up_bytes: 0, down_bytes: 0, offloaded_bytes: 0 };
    const answer = { since_ms: 0, now_ms: 0, devices: [rest], others };
    const unknown = { known: false, paused: '', kind: '', limit_up: 0 };
    expect(devicesOf(answer as never)).toMatchObject([unknown]);
    expect(devicesOf(null)).toEqual([]);
  });

  it('take limits in Mbit/s', () => {
    expect(['', ' 5 ', '0,5', '0.008', '10000'].map(kbitOf)).toEqual([0, 5000, 500, 8, 10_000_000]);
    expect(['x', '0', '-1', '0.007', '10001', '1e9'].map(kbitOf)).toEqual(Array(6).fill(null));
    for (const kbit of [0, 8, 512, 5000]) expect(kbitOf(mbitText(kbit))).toBe(kbit);
  });

  it('take quotas in GB', () => {
    expect(['', '1,5', '0.001', '10000'].map(megabytesOf)).toEqual([0, 1500, 1, 10_000_000]);
    expect(['x', '0', '-1', '0.0001', '10001'].map(megabytesOf)).toEqual(Array(5).fill(null));
  });

  it('list the newest IPv4 address first and link-local ones last', () => {
    const shown = ['10.0.0.7', '10.0.0.9', '2001:db8::2', '2001:db8::1', 'fe80::1'];
    expect(addressesOf(anna)).toEqual(shown);
  });

  it('without a name have their address or their MAC', () => {
    expect([anna, unnamed, device('02:00:00:00:00:04')].map(nameOf)).toEqual([
      "Anna's phone",
      '10.0.0.30',
      '02:00:00:00:00:04',
    ]);
  });

  it('are offline after five minutes of silence, and never seen without an observation', () => {
    const state = (more: Partial<Device>) => stateOf(device('02:00:00:00:00:01', more), NOW);
    expect(state({ seen_ms: NOW - 299_999 })).toBe('online');
    expect(state({ seen_ms: NOW - 300_000 })).toBe('offline');
    expect(state({ seen_ms: 0 })).toBe('never');
    expect(state({ seen_ms: 0, paused: 'clock' })).toBe('paused');
  });

  it('have an offloaded share only with bytes', () => {
    expect([shareOf(anna), shareOf(device('02:00:00:00:00:01'))]).toEqual([0.25, null]);
  });

  it('are sorted by use, then by bytes, and by name with unnamed ones last', () => {
    const by = (params: string) => macs(sorted(all, readView(new URLSearchParams(params))));
    expect(by('')).toEqual([2, 1, 3]);
    expect(by('sort=name&dir=asc')).toEqual([1, 2, 3]);
    expect(by('sort=name')).toEqual([3, 2, 1]);
    expect(by('sort=received')).toEqual([3, 1, 2]);
    expect(by('sort=up')).toEqual([2, 3, 1]);
  });

  it('match every word of a search in any of their texts', () => {
    const found = (text: string) => macs(matching(all, text, kindName));
    expect(found('CHILDREN phone')).toEqual([1]);
    expect(found('2001:db8')).toEqual([1]);
    expect(found('00:03')).toEqual([3]);
    expect(found('phone nas')).toEqual([]);
    expect(found(' ')).toEqual([3, 2, 1]);
  });

  it('keep a held order, with new ones at the end', () => {
    expect(macs(inOrder(all, [anna.mac, unnamed.mac]))).toEqual([1, 3, 2]);
  });

  it('are grouped by the owner’s groups', () => {
    expect([...groupsOf(all)]).toEqual([['children', [anna]]]);
  });
});

it('the view survives its address, and columns toggle their direction', () => {
  const params = new URLSearchParams('mac=02%3A00&text=tv&sort=seen&dir=asc');
  expect(writeView(readView(params)).toString()).toBe(params.toString());
  const view = readView(new URLSearchParams());
  expect(writeView(view).toString()).toBe('');
  expect(sortedBy(view, 'name')).toMatchObject({ sort: 'name', desc: false });
  expect(sortedBy(sortedBy(view, 'down'), 'down')).toMatchObject({ sort: 'down', desc: false });
});

describe('destinations', () => {
  const cols = [
    ...['id', 'src', 'nat_dst', 'src_name', 'dst_name', 'path'],
    ...['up_bps', 'down_bps', 'up_bytes', 'down_bytes'],
  ];
  const page = (rows: (string | number)[][]): FlowPage => ({
    ...{ total: 9, matched: rows.length, epoch: 1, now_ms: NOW, cols, rows },
  });

  it('sum the flows to a name in both directions, ended ones without a rate', () => {
    const found = destinationsOf(
      page([
        [1, '10.0.0.7', '192.0.2.1', '', 'video.example', 'ended', 5, 6, 10, 500],
        [2, '10.0.0.7', '192.0.2.2', '', 'video.example', 'flowtable', 1, 2, 20, 100],
        [3, '198.51.100.9', '10.0.0.7', '', '', 'slow', 3, 4, 70, 30],
      ]),
      ['10.0.0.7'],
    );
    expect(found).toMatchObject([
      {
        ...{ key: 'video.example', address: '192.0.2.1', open: 1, ended: 1 },
        ...{ up_bps: 1, down_bps: 2, up_bytes: 30, down_bytes: 600, flow: { id: 2 } },
      },
      // The other end opened this one, so its bytes up are those that the device received.
      {
        ...{ key: '198.51.100.9', address: '', open: 1, ended: 0 },
        ...{ up_bps: 4, down_bps: 3, up_bytes: 30, down_bytes: 70 },
      },
    ]);
  });
});

function draftOf(files: Record<string, Section[]>): Draft {
  const draft = new Draft({ ask: () => Promise.resolve({}) } as never);
  draft.files = files;
  return draft;
}
const section = (name: string, type: string, values: Section['values']): Section => ({
  ...{ section: name, type, anonymous: true, values },
});

describe('edits for a device', () => {
  it('reserve an address in the section that has the MAC, or in a new one', () => {
    const host = section('cfg1', 'host', { mac: '02:AA:00:00:00:09 02:00:00:00:00:02', name: 'x' });
    const draft = draftOf({ dhcp: [host] });
    drafts.reserve(draft, nas, '10.0.0.5');
    drafts.reserve(draft, anna, '10.0.0.7');
    expect(draft.all('dhcp').map(({ values }) => values)).toEqual([
      { ...host.values, ip: '10.0.0.5' },
      { name: 'annas-phone', mac: anna.mac, ip: '10.0.0.7' },
    ]);
    expect(drafts.reservedAddress(draft, nas.mac)).toBe('10.0.0.5');
  });

  it('name a reservation by what DNS accepts, and leave the rest out', () => {
    expect(['Büro – PC 2', '電話', "Anna's phone"].map(drafts.labelOf)).toEqual([
      'buro-pc-2',
      '',
      'annas-phone',
    ]);
  });

  it('forward from the masqueraded zone to the zone of the device', () => {
    const zones = [
      section('cfg1', 'zone', { name: 'lan' }),
      section('cfg2', 'zone', { name: 'internet', masq: '1' }),
    ];
    const draft = draftOf({ firewall: zones });
    const topology = { interfaces: [{ name: 'kids', zone: 'children', device: 'br-lan.10' }] };
    const zone = drafts.zoneOf(topology as unknown as Topology, anna);
    const made = drafts.forward(draft, 'x', '10.0.0.7', zone);
    expect(draft.get('firewall', made)?.values).toMatchObject({
      ...{ src: 'internet', dest: 'children', dest_ip: '10.0.0.7', target: 'DNAT' },
    });
    expect(drafts.networkOf(topology as unknown as Topology, anna)).toBe('kids');
  });
});

describe('schedules', () => {
  const of = (values: Section['values']) => section('cfg1', 'schedule', values);

  it('name spans of days', () => {
    const text = (day: string[]) => schedules.daysText(of({ day }), 'daily');
    expect(text([])).toBe('daily');
    expect(text(['fri', 'mon', 'TUE', 'wed'])).toBe('Mon–Wed, Fri');
    expect(text(['sat', 'sun'])).toBe('Sat, Sun');
  });

  it('write all days as none', () => {
    expect(schedules.toggled(of({}), 'sun', false)).toEqual(schedules.days.slice(0, 6));
    expect(schedules.toggled(of({ day: [...schedules.days.slice(1)] }), 'mon', true)).toEqual([]);
  });

  it('end on the next day unless they end after they begin', () => {
    const next = (from: string, to: string) => schedules.endsNextDay(of({ from, to }));
    expect([next('21:00', '07:00'), next('08:00', '12:00'), next('07:00', '07:00')]).toEqual([
      ...[true, false, true],
    ]);
  });

  it('add and remove devices and groups, whose names may have spaces', () => {
    const draft = draftOf({ fastpath: [] });
    const name = schedules.add(draft, 'bedtime');
    const now = () => draft.get('fastpath', name) as Section;
    schedules.addTarget(draft, now(), 'group the children');
    schedules.addTarget(draft, now(), `device ${nas.mac}`);
    schedules.addTarget(draft, now(), `device ${nas.mac}`);
    expect(now().values).toMatchObject({ group: ['the children'], device: [nas.mac] });
    schedules.removeTarget(draft, now(), 'group', 'the children');
    schedules.removeTarget(draft, now(), 'device', nas.mac);
    expect(now().values).toEqual({ name: 'bedtime', from: '21:00', to: '07:00' });
  });
});
