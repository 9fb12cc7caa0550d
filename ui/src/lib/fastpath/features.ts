// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { isOn, list, text, type Section } from '../form/sections';

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

const IPV6 = '::/0';

/** Options that restrict an exclusion to some IPv6 flows. */
const conditions = ['dest', 'proto', 'src_port', 'dest_port', 'slow_packets'] as const;

const ipv6Excludes = (draft: Pick<Sections, 'all'>) =>
  draft
    .all(FILE, 'exclude')
    .filter((each) => text(each, 'src') === IPV6)
    .filter((each) => !conditions.some((option) => text(each, option)));

/** Reports whether IPv6 flows may be offloaded: no exclusion covers all of IPv6. */
export const offloadsIpv6 = (draft: Pick<Sections, 'all'>): boolean =>
  ipv6Excludes(draft).length === 0;

export function setIpv6Offload(draft: Sections, on: boolean): void {
  const known = ipv6Excludes(draft).map(({ section }) => section);
  if (on) draft.remove(FILE, ...known);
  else if (known.length === 0) draft.add(FILE, 'exclude', { name: 'IPv6', src: IPV6 });
}

/** Returns the exclusions, without the one of the IPv6 switch. */
export function excludes(draft: Pick<Sections, 'all'>): Section[] {
  const own = ipv6Excludes(draft);
  return draft.all(FILE, 'exclude').filter((each) => !own.includes(each));
}

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
