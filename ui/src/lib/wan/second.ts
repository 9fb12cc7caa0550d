// SPDX-License-Identifier: GPL-2.0-or-later
/** Several WANs: a further interface, and mwan3's sections that use all of them. */

import type { Draft } from '../form/draft.svelte';
import { list, text, type Value } from '../form/sections';
import { wansOf } from './wan';

export interface NewLine {
  name: string;
  port: string;
  vid: string;
  proto: string;
}

export type Wrong = 'name' | 'port' | 'vid';

/** netifd names the device of a PPPoE session `pppoe-NAME`, which has at most 15 characters. */
const NAME = /^[a-z][a-z0-9]{0,8}$/;

export function wrongWith(draft: Draft, { name, port, vid }: NewLine): Wrong[] {
  const device = deviceOf({ port, vid });
  const used = draft.all('network', 'interface').some((each) => text(each, 'device') === device);
  return [
    ...(!NAME.test(name) || draft.get('network', name) ? (['name'] as const) : []),
    ...(port === '' || used ? (['port'] as const) : []),
    ...(vid === '' || (/^\d+$/.test(vid) && Number(vid) >= 1 && Number(vid) <= 4094)
      ? []
      : (['vid'] as const)),
  ];
}

const deviceOf = ({ port, vid }: { port: string; vid: string }) => (vid ? `${port}.${vid}` : port);

/** Adds a WAN to the zone of the first one. Routes of WANs need different metrics. */
export function addLine(draft: Draft, { name, port, vid, proto }: NewLine): void {
  const names = wansOf(draft);
  let metric = 0;
  for (const each of names) {
    const own = Number(text(draft.get('network', each), 'metric'));
    metric = own > metric ? own : metric + 10;
    if (own !== metric) draft.set('network', each, { metric: String(metric) });
  }
  const values = { device: deviceOf({ port, vid }), proto, metric: String(metric + 10) };
  draft.add('network', 'interface', values, name);
  const zone = draft
    .all('firewall', 'zone')
    .find((each) => list(each, 'network').includes(names[0] ?? ''));
  if (zone) draft.set('firewall', zone.section, { network: [...list(zone, 'network'), name] });
}

export type Mode = 'failover' | 'balance';

/** Checked by mwan3's tracker if no interface of the package's example has addresses. */
const TRACKED = ['1.1.1.1', '9.9.9.9'];

function put(draft: Draft, type: string, name: string, values: Record<string, Value>): void {
  if (draft.get('mwan3', name)) draft.set('mwan3', name, values);
  else draft.add('mwan3', type, values, name);
}

/** Lets mwan3 use the WANs, in their order or in equal shares. */
export function useAll(draft: Draft, names: readonly string[], mode: Mode): void {
  const known = draft.all('mwan3', 'interface').map((each) => list(each, 'track_ip'));
  const tracked = known.find((each) => each.length > 0) ?? TRACKED;
  const members = names.map((name, i) => {
    const interface_ = draft.get('mwan3', name);
    if (interface_) draft.set('mwan3', name, { enabled: '1' });
    else {
      const values = { enabled: '1', family: 'ipv4', track_ip: tracked };
      draft.add('mwan3', 'interface', values, name);
    }
    const metric = mode === 'failover' ? String(i + 1) : '1';
    const member = `${name}_m${metric}`;
    put(draft, 'member', member, { interface: name, metric, weight: '1' });
    return member;
  });
  // Without a member that is up, IPv6 among others, packets use the main table.
  put(draft, 'policy', mode, { use_member: members, last_resort: 'default' });
  const rules = draft.all('mwan3', 'rule').filter((each) => {
    const ours = ['balanced', 'failover', 'balance'].includes(text(each, 'use_policy'));
    const all = text(each, 'dest_ip') === '0.0.0.0/0';
    return (ours || all) && text(each, 'family') !== 'ipv6' && text(each, 'dest_ip') !== '::/0';
  });
  // A sticky rule changes a set with each packet, which keeps all TCP flows on the slow path.
  // Failover does not need it, because only one member is in use.
  const sticky = mode === 'failover' ? { sticky: '' } : {};
  for (const { section } of rules) draft.set('mwan3', section, { use_policy: mode, ...sticky });
  if (!rules.some((each) => text(each, 'dest_ip') === '0.0.0.0/0')) {
    const values = { dest_ip: '0.0.0.0/0', family: 'ipv4', use_policy: mode };
    draft.add('mwan3', 'rule', values, 'default_rule_v4');
  }
}

/** An interface as netifd reports it. */
export interface Reported {
  interface: string;
  up?: boolean;
  l3_device?: string;
  metric?: number;
  route?: { target: string; mask: number }[];
}

/** Returns the WAN whose default route has the lowest metric. */
export function defaultOf(all: readonly Reported[]): string | undefined {
  const routed = all.filter(({ up, route }) => {
    return up && route?.some(({ target, mask }) => target === '0.0.0.0' && mask === 0);
  });
  return routed.sort((a, b) => (a.metric ?? 0) - (b.metric ?? 0))[0]?.interface;
}

/** Answer of mwan3's ubus method `status`. */
export interface Mwan3 {
  interfaces?: Record<string, { status?: string; enabled?: boolean; tracking?: string }>;
  policies?: { ipv4?: Record<string, { interface: string; percent: number }[]> };
}

/** Returns the share of new IPv4 connections of a WAN in each policy. */
export const sharesOf = (mwan3: Mwan3, name: string): [policy: string, percent: number][] =>
  Object.entries(mwan3.policies?.ipv4 ?? {}).flatMap(([policy, members]) =>
    members
      .filter((each) => each.interface === name)
      .map(({ percent }): [string, number] => [policy, percent]),
  );
