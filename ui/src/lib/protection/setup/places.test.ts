// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from 'vitest';
import type { Topology } from '../../api/types';
import { keyOf, offered, placeOf, vlansByZone } from './places';

const link = (name: string, vlan = 0, master = '') => ({ name, vlan, master });

const topology = {
  links: [
    link('br-lan'),
    link('br-lan.20', 20),
    link('br-lan.10', 10),
    link('br-old'),
    link('lan2.40', 40, 'br-old'),
    link('wan'),
    link('wan.35', 35),
    link('pppoe-wan'),
  ],
  pppoe: [{ device: 'pppoe-wan', lower: 'wan.35' }],
  interfaces: [
    { zone: 'lan', device: 'br-lan.20' },
    { zone: 'lan', device: 'br-lan.10' },
    { zone: 'old', device: 'br-old' },
    { zone: 'wan', device: 'pppoe-wan' },
    { zone: '', device: 'br-lan' },
    { zone: 'gone', device: 'eth9' },
  ],
} as unknown as Topology;

test('collects the VLANs of a zone from interfaces, their ports and PPPoE', () => {
  expect([...vlansByZone(topology)]).toEqual([
    ['lan', [10, 20]],
    ['old', [40]],
    ['wan', [35]],
    ['gone', []],
  ]);
  expect(vlansByZone(null).size).toBe(0);
});

const keys = (...args: Parameters<typeof offered>) => offered(...args).map(keyOf);

test('offers zones with each of their VLANs, and VLANs without a zone separately', () => {
  const known = { zones: ['lan', 'guest'], vlans: [10, 20, 30] };
  const now = { zone: '', vlan: '' };
  const all = ['/', '/lan', '10/lan', '20/lan', '/guest', '30/'];
  expect(keys(known, vlansByZone(topology), now)).toEqual(all);
  expect(keys(known, new Map(), now)).toEqual(['/', '/lan', '/guest', '10/', '20/', '30/']);
});

test('keeps the current value as a choice even if its zone or VLAN is gone', () => {
  const known = { zones: ['lan'], vlans: [10] };
  const now = { zone: 'attic', vlan: '99' };
  expect(keys(known, vlansByZone(topology), now)).toEqual(['/', '/lan', '10/lan', '99/attic']);
  expect(placeOf('99/attic')).toEqual(now);
  expect(placeOf('/a/b')).toEqual({ zone: 'a/b', vlan: '' });
  expect(placeOf('/')).toEqual({ zone: '', vlan: '' });
});
