// SPDX-License-Identifier: GPL-2.0-or-later

import type { Link } from '../api/types';
import type { Draft } from '../form/draft.svelte';
import { isOn, list, type Section } from '../form/sections';

type Sections = Pick<Draft, 'all' | 'set' | 'add' | 'remove'>;

const FILE = 'fastpath';

export const main = (draft: Pick<Sections, 'all'>): Section | undefined =>
  draft.all(FILE, 'fastpath')[0];

export const isExcluded = (draft: Pick<Sections, 'all'>, device: string): boolean =>
  list(main(draft), 'ignore_device').includes(device);

export function setPort(draft: Sections, device: string, on: boolean): void {
  const section = main(draft);
  if (!section) return;
  const rest = list(section, 'ignore_device').filter((each) => each !== device);
  draft.set(FILE, section.section, { ignore_device: on ? rest : [...rest, device] });
}

/** Names of the tunnels that the flowtable supports, by the kernel's device kind. */
export const tunnels = {
  wireguard: 'WireGuard',
  gre: 'GRE',
  gretap: 'GRETAP',
  ip6gre: 'GRE over IPv6',
  ip6gretap: 'GRETAP over IPv6',
  ipip: 'IPIP',
  sit: '6in4, 6rd (sit)',
  ip6tnl: 'DS-Lite, MAP-E (ip6tnl)',
} as const;

export type Tunnel = keyof typeof tunnels;
export type Traffic = 'ipv4' | 'ipv6' | 'vlan' | 'pppoe' | Tunnel;

/** Reports whether the switch of a traffic type is on. */
const isSwitchedOn = (section: Section | undefined, type: Traffic): boolean =>
  isOn(section, type, '1') && !list(section, 'slow_tunnel').includes(type);

export const isOffloaded = (draft: Pick<Sections, 'all'>, type: Traffic): boolean =>
  isSwitchedOn(main(draft), type);

export const isOffloadedOnRouter = (draft: Draft, type: Traffic): boolean =>
  isSwitchedOn(draft.original(FILE, main(draft)?.section ?? ''), type);

export function setTunnel(draft: Sections, kind: Tunnel, on: boolean): void {
  const section = main(draft);
  if (!section) return;
  const rest = list(section, 'slow_tunnel').filter((each) => each !== kind);
  draft.set(FILE, section.section, { slow_tunnel: on ? rest : [...rest, kind] });
}

/** Returns the kinds of tunnels that the router has or keeps on the slow path. */
export function tunnelsOf(
  draft: Pick<Sections, 'all'>,
  links: readonly Pick<Link, 'name' | 'kind' | 'lowest'>[],
): { kind: Tunnel; devices: string[] }[] {
  const devices = (kind: Tunnel) =>
    links.filter((link) => link.lowest && link.kind === kind).map(({ name }) => name);
  return (Object.keys(tunnels) as Tunnel[])
    .map((kind) => ({ kind, devices: devices(kind) }))
    .filter(({ kind, devices }) => devices.length > 0 || !isOffloaded(draft, kind));
}

export const excludes = (draft: Pick<Sections, 'all'>): readonly Section[] =>
  draft.all(FILE, 'exclude');

/** Helpers by their names in fw4's helpers.conf, common ones first. */
export const helpers = ['ftp', 'tftp', 'sip', 'pptp', 'irc', 'h323', 'snmp', 'amanda'] as const;

/** Returns fw4's names of a helper; H.323 has two. */
const partsOf = (helper: string): string[] => (helper === 'h323' ? ['RAS', 'Q.931'] : [helper]);

const defaults = (draft: Pick<Sections, 'all'>) => draft.all('firewall', 'defaults')[0];

/** Reports whether fw4 assigns all loaded helpers to every zone except masquerading ones. */
export const automatic = (draft: Pick<Sections, 'all'>): boolean =>
  isOn(defaults(draft), 'auto_helper', '1');

export function setAutomatic(draft: Sections, on: boolean): void {
  const section = defaults(draft);
  if (section) draft.set('firewall', section.section, { auto_helper: on ? '1' : '0' });
}

export const hasHelper = (zone: Section, helper: string): boolean =>
  partsOf(helper).every((part) => list(zone, 'helper').includes(part));

export function setHelper(draft: Sections, zone: Section, helper: string, on: boolean): void {
  const parts = partsOf(helper);
  const rest = list(zone, 'helper').filter((each) => !parts.includes(each));
  draft.set('firewall', zone.section, { helper: on ? [...rest, ...parts] : rest });
}
