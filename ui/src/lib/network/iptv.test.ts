// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import { list, text, type Section, type Value } from '../form/sections';
import { addIptv, iptvOf, portsFor, removeIptv, wrongWith } from './iptv';

const section = (name: string, type: string, values: Record<string, Value>): Section => ({
  section: name,
  type,
  anonymous: type !== 'interface',
  values,
});
const network = [
  section('cfg1', 'device', { name: 'br-lan', type: 'bridge', ports: ['lan1', 'lan2', 'lan3'] }),
  section('cfg2', 'bridge-vlan', { device: 'br-lan', vlan: '10', ports: ['lan1:u*', 'lan2:u*'] }),
  section('cfg3', 'bridge-vlan', { device: 'br-lan', vlan: '20', ports: ['lan2:t', 'lan3:u*'] }),
  section('lan', 'interface', { device: 'br-lan.10', proto: 'static', ipaddr: '10.0.0.1/24' }),
  section('wan', 'interface', { device: 'wan.35', proto: 'pppoe' }),
];
const firewall = [section('z', 'zone', { name: 'wan', masq: '1', network: ['wan'] })];

async function draftOf(files: Record<string, readonly Section[]> = { network, firewall }) {
  const draft = new Draft(
    new Router({ request: () => Promise.resolve({ configs: files }) } as never),
  );
  await draft.load(Object.keys(files));
  return draft;
}
const portsOf = (draft: Draft, name: string) => list(draft.get('network', name), 'ports');

describe('IPTV', () => {
  it('bridges a VLAN of the line with a port, which leaves all home networks', async () => {
    const draft = await draftOf();
    expect(iptvOf(draft)).toBeUndefined();
    expect(portsFor(draft)).toEqual(['lan1', 'lan2', 'lan3']);
    addIptv(draft, '40', 'lan2');
    expect(iptvOf(draft)).toEqual({ vid: '40', line: 'wan', ports: ['lan2'] });
    expect(['cfg1', 'cfg2', 'cfg3'].map((name) => portsOf(draft, name))).toEqual([
      ['lan1', 'lan3'],
      ['lan1:u*'],
      ['lan3:u*'],
    ]);
    const bridge = draft.all('network', 'device').find((each) => text(each, 'name') === 'br-iptv');
    expect(bridge?.values).toEqual({
      name: 'br-iptv',
      type: 'bridge',
      ports: ['wan.40', 'lan2'],
      igmp_snooping: '1',
      multicast_querier: '0',
    });
    expect(draft.get('network', 'iptv')?.values).toEqual({ device: 'br-iptv.40', proto: 'none' });
    // The WAN keeps its device.
    expect(text(draft.get('network', 'wan'), 'device')).toBe('wan.35');
  });

  it('leaves no edit if it is removed again', async () => {
    for (const port of ['lan1', 'lan2', 'lan3']) {
      const draft = await draftOf();
      addIptv(draft, '40', port);
      removeIptv(draft);
      expect(draft.edits, port).toEqual([]);
    }
  });

  it('gives the port to the network lan if the router no longer knows its VLANs', async () => {
    const before = await draftOf();
    addIptv(before, '40', 'lan3');
    const draft = await draftOf({ network: before.all('network'), firewall });
    removeIptv(draft);
    expect(portsOf(draft, 'cfg1')).toEqual(['lan1', 'lan2', 'lan3']);
    expect(portsOf(draft, 'cfg2')).toEqual(['lan1:u*', 'lan2:u*', 'lan3:u*']);
    expect(draft.get('network', 'iptv')).toBeUndefined();
    expect(iptvOf(draft)).toBeUndefined();
  });

  it('refuses a VLAN that the line uses, and invalid numbers', async () => {
    const draft = await draftOf();
    expect(['35', '0', '4095', 'x', ''].map((vid) => wrongWith(draft, vid))).toEqual([
      'vid.line',
      'vid',
      'vid',
      'vid',
      'vid',
    ]);
    expect(wrongWith(draft, '40')).toBeUndefined();
  });
});
