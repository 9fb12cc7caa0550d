// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import { MASK, text, type Section } from '../form/sections';
import { about, isJumbo, labelOf, lineOf, portsOf, setJumbo, setLine, wansOf } from './wan';

const section = (name: string, type: string, values: Section['values']): Section => ({
  section: name,
  type,
  anonymous: name.startsWith('cfg'),
  values,
});

let draft: Draft;

beforeEach(async () => {
  const configs = {
    network: [
      section('cfg01', 'device', { name: 'br-lan', type: 'bridge', ports: ['lan1', 'lan2'] }),
      section('cfg02', 'device', { name: 'wan.35', type: '8021q', ifname: 'wan', vid: '35' }),
      section('lan', 'interface', { device: 'br-lan.10', proto: 'static' }),
      section('wan', 'interface', { device: 'wan.35', proto: 'pppoe', password: MASK }),
      section('wan6', 'interface', { device: '@wan', proto: 'dhcpv6' }),
    ],
    firewall: [
      section('cfg03', 'zone', { name: 'lan', network: ['lan'] }),
      section('cfg04', 'zone', { name: 'wan', network: ['wan', 'wan6'], masq: '1' }),
    ],
  };
  draft = new Draft(new Router({ request: () => Promise.resolve({ configs }) }));
  await draft.load(['network', 'firewall']);
});

it('finds the WAN by its zone, and the devices below it', () => {
  expect(wansOf(draft)).toEqual(['wan']);
  expect(lineOf(draft, 'wan')).toEqual({ port: 'wan', vid: '35' });
  expect(portsOf(draft, ['wan', 'lan1', 'sfp', 'wan.35'], 'wan')).toEqual(['wan', 'sfp']);
});

it('changes or removes the VLAN and its device section', () => {
  setLine(draft, 'wan', 'wan', '7');
  expect(draft.edits).toEqual([
    { config: 'network', op: 'set', section: 'cfg02', values: { name: 'wan.7', vid: '7' } },
    { config: 'network', op: 'set', section: 'wan', values: { device: 'wan.7' } },
  ]);
  setLine(draft, 'wan', 'sfp', '');
  expect(draft.edits).toEqual([
    { config: 'network', op: 'delete', section: 'cfg02' },
    { config: 'network', op: 'set', section: 'wan', values: { device: 'sfp' } },
  ]);
  setLine(draft, 'wan', 'sfp', '8');
  expect(text(draft.get('network', 'wan'), 'device')).toBe('sfp.8');
});

it('raises and restores the MTU of port and VLAN for baby jumbo frames', () => {
  expect(isJumbo(draft, 'wan')).toBe(false);
  setJumbo(draft, 'wan', true);
  expect(isJumbo(draft, 'wan')).toBe(true);
  expect(draft.edits).toHaveLength(3);
  expect(draft.edits).toContainEqual({
    config: 'network',
    op: 'add',
    type: 'device',
    id: 'new1',
    values: { name: 'wan', mtu: '1508' },
  });
  setJumbo(draft, 'wan', false);
  expect(isJumbo(draft, 'wan')).toBe(false);
});

it('keeps the outer tag of a WAN with two', () => {
  draft.add('network', 'device', { name: 'isp', type: '8021ad', ifname: 'wan', vid: '100' });
  draft.set('network', 'cfg02', { name: 'isp.35', ifname: 'isp' });
  draft.set('network', 'wan', { device: 'isp.35' });
  expect(lineOf(draft, 'wan')).toEqual({ port: 'isp', vid: '35' });
  expect(portsOf(draft, ['wan', 'isp', 'sfp'], 'wan')).toEqual(['isp', 'wan', 'sfp']);
  expect(['isp', 'sfp'].map((port) => labelOf(draft, port))).toEqual([
    'isp (VLAN 100, wan)',
    'sfp',
  ]);
  setLine(draft, 'wan', 'isp', '7');
  expect(text(draft.get('network', 'wan'), 'device')).toBe('isp.7');
  setJumbo(draft, 'wan', true);
  const wide = draft.all('network', 'device').filter((each) => text(each, 'mtu') === '1508');
  expect(wide.map((each) => text(each, 'name')).sort()).toEqual(['isp', 'isp.7', 'wan']);
  setLine(draft, 'wan', 'isp', '');
  expect(lineOf(draft, 'wan')).toEqual({ port: 'wan', vid: '100' });
});

it('never sends an unedited password', () => {
  draft.set('network', 'wan', { username: 'a"b\nö' });
  expect(draft.edits).toEqual([
    { config: 'network', op: 'set', section: 'wan', values: { username: 'a"b\nö' } },
  ]);
});

it('selects the log entries about the WAN', () => {
  const log = [
    'pppd[7]: CHAP authentication succeeded',
    'dnsmasq: query',
    "netifd: Interface 'wan' is now up",
    "netifd: Interface 'lan' is now up",
    "netifd: Interface 'wan6' is now up",
    'netifd: wan (4711): udhcpc: lease of 192.0.2.7 obtained',
    "fastpath-change: change 1 of root: firewall.new1.src: 'wan' instead of nothing",
    'standin: cat: /run/supervise/pppoe-wan: No such file or directory',
    'kernel: [   12.3] mtk_soc_eth wan: Link is Down',
  ].map((msg, i) => ({ msg, time: i }));
  expect(about('wan', log).map(({ time }) => time)).toEqual([8, 5, 2, 0]);
  const long = Array.from({ length: 100 }, (_, time) => ({ msg: 'pppd[7]: hello', time }));
  expect(about('wan', long).map(({ time }) => time)).toEqual(
    long
      .slice(60)
      .reverse()
      .map(({ time }) => time),
  );
});
