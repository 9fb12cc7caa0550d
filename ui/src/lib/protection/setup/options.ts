// SPDX-License-Identifier: GPL-2.0-or-later
/** How each option of policy and rules is edited, closed lists of values, names of sources, sizes
 * such as `1 MiB`. */

import { defaultOf } from '../../form/defaults';
import { isOn as isSet, text, type Section } from '../../form/sections';

/** The section `rules` of this name chooses among the rules that come with fastpath. */
export const OWN = 'fastpath';

/** Whether a new source may be called so: a name that uci takes, and not that of our own rules. */
export function isSourceName(name: string): boolean {
  return /^\w{1,64}$/.test(name) && name !== OWN;
}

/** Whether a switch is on; one that is absent is as by default. */
export function isOn(type: string, section: Section | undefined, option = 'enabled'): boolean {
  return isSet(section, option, defaultOf(type, option));
}

/** A zone or VLAN of a policy; empty: any, which fw4 spells `*` for zones. */
export function placeOf(section: Section, option: string): string {
  const place = text(section, option);
  return place === '*' ? '' : place;
}

const switches = ['enabled', 'block', 'unverified'];
const lists = ['device', 'exempt', 'block_exempt', 'category', 'disable', 'drop'];

/** How an option is edited. */
export function kindOf(option: string): 'switch' | 'list' | 'bytes' | 'text' {
  if (switches.includes(option)) return 'switch';
  if (lists.includes(option)) return 'list';
  return option === 'budget_bytes' ? 'bytes' : 'text';
}

const actions = ['inspect', 'none', 'always'];
const values: Record<string, readonly string[]> = {
  action: actions,
  default: actions,
  mode: ['nfq', 'ids', 'inline'],
  fail: ['open', 'closed'],
};

/** The values an option can have, where they are a closed list. */
export function valuesOf(option: string): readonly string[] | undefined {
  return values[option];
}

const units: Record<string, number> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  ki: 1024,
  mi: 1024 ** 2,
  gi: 1024 ** 3,
};

/** Bytes of `1 MiB`, `512 kB`, `1048576`; null for anything else. */
export function parseBytes(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*([kmg]i?)?b?$/i.exec(text.trim());
  if (!found) return null;
  const bytes = Number(found[1]) * (units[(found[2] ?? '').toLowerCase()] ?? 1);
  return Number.isInteger(bytes) && bytes < 2 ** 32 ? bytes : null;
}

/** The inverse, in the largest unit that loses nothing. */
export function writeBytes(text: string): string {
  const bytes = Number(text);
  if (!/^\d+$/.test(text) || bytes === 0) return text;
  for (const [unit, step] of Object.entries({ GiB: 1024 ** 3, MiB: 1024 ** 2, KiB: 1024 })) {
    if (bytes % step === 0) return `${bytes / step} ${unit}`;
  }
  return text;
}
