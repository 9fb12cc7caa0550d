// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import { list, text, type Section, type Value } from '../form/sections';
import { addLine, defaultOf, sharesOf, useAll, wrongWith } from './second';
import { wansOf } from './wan';

const section = (name: string, type: string, values: Record<string, Value>): Section => ({
  section: name,
  type,
  anonymous: false,
  values,
});
const network = [
  section('lan', 'interface', { device: 'br-lan', proto: 'static' }),
  section('wan', 'interface', { device: 'wan.35', proto: 'pppoe' }),
];
const firewall = [section('z', 'zone', { name: 'wan', masq: '1', network: ['wan', 'wan6'] })];
/** The part of mwan3's example that concerns IPv4 and the default rules. */
const mwan3 = [
  section('wan', 'interface', { enabled: '1', family: 'ipv4', track_ip: ['1.0.0.1', '1.1.1.1'] }),
  section('wan_m1_w3', 'member', { interface: 'wan', metric: '1', weight: '3' }),
  section('balanced', 'policy', { use_member: ['wan_m1_w3'] }),
  section('https', 'rule', {
    sticky: '1',
    dest_port: '443',
    proto: 'tcp',
    use_policy: 'balanced',
  }),
  section('voip', 'rule', { dest_port: '5060', proto: 'udp', use_policy: 'wan_only' }),
  section('default_rule_v4', 'rule', { dest_ip: '0.0.0.0/0', use_policy: 'balanced' }),
  section('default_rule_v6', 'rule', { dest_ip: '::/0', use_policy: 'balanced', family: 'ipv6' }),
];

async function draftOf(files: Record<string, readonly Section[]>) {
  const draft = new Draft(
    new Router({ request: () => Promise.resolve({ configs: files }) } as never),
  );
  await draft.load([...Object.keys(files), 'mwan3']);
  return draft;
}
const added = { name: 'wan2', port: 'lan4', vid: '', proto: 'dhcp' };

describe('a further connection', () => {
  it('joins the zone of the first one, behind it', async () => {
    const draft = await draftOf({ network, firewall });
    addLine(draft, { ...added, vid: '7' });
    expect(draft.get('network', 'wan2')?.values).toEqual({
      device: 'lan4.7',
      proto: 'dhcp',
      metric: '20',
    });
    expect(text(draft.get('network', 'wan'), 'metric')).toBe('10');
    expect(list(draft.get('firewall', 'z'), 'network')).toEqual(['wan', 'wan6', 'wan2']);
    expect(wansOf(draft)).toEqual(['wan', 'wan2']);
    addLine(draft, { ...added, name: 'wan3', port: 'lan5' });
    const metrics = ['wan', 'wan2', 'wan3'].map((each) => {
      return text(draft.get('network', each), 'metric');
    });
    expect(metrics).toEqual(['10', '20', '30']);
  });

  it('keeps metrics that differ already', async () => {
    const wan = section('wan', 'interface', { device: 'wan', proto: 'dhcp', metric: '5' });
    const draft = await draftOf({ network: [wan], firewall });
    addLine(draft, added);
    expect(draft.get('network', 'wan')).toEqual(wan);
    expect(text(draft.get('network', 'wan2'), 'metric')).toBe('15');
  });

  it('needs a new name, and a device that no interface has', async () => {
    const draft = await draftOf({ network, firewall });
    expect(wrongWith(draft, added)).toEqual([]);
    for (const name of ['wan', '', 'WAN2', 'a-b', 'abcdefghij', '2wan']) {
      expect(wrongWith(draft, { ...added, name }), name).toEqual(['name']);
    }
    expect(wrongWith(draft, { ...added, port: '' })).toEqual(['port']);
    expect(wrongWith(draft, { ...added, port: 'wan', vid: '35' })).toEqual(['port']);
    expect(wrongWith(draft, { ...added, vid: '4095' })).toEqual(['vid']);
  });
});

describe('mwan3', () => {
  it('uses the connections in their order or in equal shares', async () => {
    const draft = await draftOf({ network, firewall, mwan3 });
    expect(draft.missing).toEqual([]);
    addLine(draft, added);
    useAll(draft, wansOf(draft), 'failover');
    const get = (name: string) => draft.get('mwan3', name)?.values;
    expect(get('wan')).toEqual(mwan3[0]?.values);
    expect(get('wan2')).toEqual({
      enabled: '1',
      family: 'ipv4',
      track_ip: ['1.0.0.1', '1.1.1.1'],
    });
    expect(get('failover')?.['use_member']).toEqual(['wan_m1', 'wan2_m2']);
    expect(get('wan2_m2')).toEqual({ interface: 'wan2', metric: '2', weight: '1' });
    const policies = () => draft.all('mwan3', 'rule').map((each) => text(each, 'use_policy'));
    expect(policies()).toEqual(['failover', 'wan_only', 'failover', 'balanced']);
    expect(get('https')).not.toHaveProperty('sticky');
    useAll(draft, wansOf(draft), 'balance');
    expect(get('balance')?.['use_member']).toEqual(['wan_m1', 'wan2_m1']);
    expect(policies()).toEqual(['balance', 'wan_only', 'balance', 'balanced']);
  });

  it('gets a default rule if it has none', async () => {
    const draft = await draftOf({ network, firewall, mwan3: [] });
    useAll(draft, ['wan'], 'failover');
    expect(draft.get('mwan3', 'default_rule_v4')?.values).toEqual({
      dest_ip: '0.0.0.0/0',
      family: 'ipv4',
      use_policy: 'failover',
    });
    expect(draft.get('mwan3', 'wan')?.values['track_ip']).toEqual(['1.1.1.1', '9.9.9.9']);
  });

  it('is missing without its file', async () => {
    expect((await draftOf({ network, firewall })).missing).toEqual(['mwan3']);
  });

  it('reports the share of a connection in each policy', () => {
    const policies = { ipv4: { failover: [{ interface: 'wan2', percent: 100 }], other: [] } };
    expect(sharesOf({ policies }, 'wan2')).toEqual([['failover', 100]]);
    expect(sharesOf({ policies }, 'wan')).toEqual([]);
    expect(sharesOf({}, 'wan')).toEqual([]);
  });
});

it('the default route is that of the lowest metric which is up', () => {
  const route = [{ target: '0.0.0.0', mask: 0 }];
  const all = [
    { interface: 'a', up: true, metric: 20, route },
    { interface: 'b', up: true, metric: 10, route: [] },
    { interface: 'c', up: false, metric: 5, route },
  ];
  expect(defaultOf(all)).toBe('a');
  expect(defaultOf([...all, { interface: 'd', up: true, route }])).toBe('d');
  expect(defaultOf([])).toBeUndefined();
});
