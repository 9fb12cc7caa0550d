// SPDX-License-Identifier: GPL-2.0-or-later

import type { Alert } from '../api/types';
import { defaultOf } from '../form/defaults';
import type { Draft } from '../form/draft.svelte';
import { isOn, list, text } from '../form/sections';
import { OWN } from './setup/source-name';

type Sections = Pick<Draft, 'all' | 'get' | 'set' | 'add'>;

/** SIDs of the built-in rules (docs/rules.md). */
const OWN_SIDS = { first: 8_100_000, last: 8_100_099 };

const isOwn = (sid: number) => sid >= OWN_SIDS.first && sid <= OWN_SIDS.last;

/** Returns the rule sources that may contain the rule; empty if no section can disable it. */
function sourcesOf(draft: Sections, { gid, sid }: Alert): string[] {
  // Events of Suricata's decoders belong to no rule source.
  if (gid !== 1) return [];
  if (isOwn(sid)) return [OWN];
  const all = draft.all('fastpath', 'rules').map(({ section }) => section);
  return all.filter((name) => name !== OWN);
}

/** Appends an entry to a list; creates a missing section. */
function append(draft: Sections, type: string, name: string, option: string, entry: string) {
  const there = list(draft.get('fastpath', name), option);
  if (there.includes(entry)) return;
  if (!draft.get('fastpath', name)) draft.add('fastpath', type, {}, name);
  draft.set('fastpath', name, { [option]: [...there, entry] });
}

export const canDisable = (draft: Sections, alert: Alert): boolean =>
  sourcesOf(draft, alert).length > 0;

export const isDisabled = (draft: Sections, alert: Alert): boolean =>
  canDisable(draft, alert) &&
  sourcesOf(draft, alert).every((name) =>
    list(draft.get('fastpath', name), 'disable').includes(String(alert.sid)),
  );

export function disable(draft: Sections, alert: Alert): void {
  for (const name of sourcesOf(draft, alert)) {
    append(draft, 'rules', name, 'disable', String(alert.sid));
  }
}

export type Exemption = 'exempt' | 'block_exempt';

const inspection = (draft: Sections) => draft.all('fastpath', 'ips')[0];

export const isExempt = (draft: Sections, address: string, from: Exemption): boolean =>
  list(inspection(draft), from).includes(address);

export const exempt = (draft: Sections, address: string, from: Exemption): void =>
  append(draft, 'ips', inspection(draft)?.section ?? 'ips', from, address);

export const blocksSenders = (draft: Sections): boolean =>
  isOn(inspection(draft), 'block', defaultOf('ips', 'block'));

/** The two firewall rules of a block drop forwarded packets from and to the address. */
const sides = ['src_ip', 'dest_ip'] as const;

export const isBlocked = (draft: Sections, address: string): boolean =>
  sides.every((side) =>
    draft
      .all('firewall', 'rule')
      .some(
        (rule) =>
          isOn(rule, 'enabled', '1') &&
          text(rule, 'name') === `Block-${address}` &&
          text(rule, side) === address,
      ),
  );

export function block(draft: Sections, address: string): void {
  if (isBlocked(draft, address)) return;
  const rule = { name: `Block-${address}`, src: '*', dest: '*', proto: 'all', target: 'DROP' };
  for (const side of sides) draft.add('firewall', 'rule', { ...rule, [side]: address });
}
