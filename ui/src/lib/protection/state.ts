// SPDX-License-Identifier: GPL-2.0-or-later
/** State of inspection as shown: the daemon's, and whether its rules protect; level and sign. */

import type { IpsState, IpsSummary, Level } from '../api/types';

/** `inline` with only built-in test rules, or with sources that were not reached for longer than
 * the doctor accepts. */
export type ShownState = IpsState | 'inline-builtin' | 'inline-old';

/** Days without an answer of the sources after which the doctor reports that. */
export const OLD_DAYS = 7;
const DAY_MS = 24 * 3600 * 1000;

/** Whole days since the sources were reached. */
export const daysOf = (rules_ms: number, now_ms: number): number =>
  Math.floor((now_ms - rules_ms) / DAY_MS);

export function shownOf(
  { state, rules_ms }: Pick<IpsSummary, 'state' | 'rules_ms'>,
  now_ms: number,
): ShownState {
  if (state !== 'inline') return state;
  if (rules_ms === 0) return 'inline-builtin';
  return daysOf(rules_ms, now_ms) > OLD_DAYS ? 'inline-old' : 'inline';
}

/**
 * How bad each state is, `off` being neither good nor bad, and a sign of its own, so that colour is
 * never the only difference.
 */
const looks: Record<ShownState, readonly [Level, string]> = {
  off: ['notice', '–'],
  starting: ['notice', '…'],
  inline: ['ok', '✓'],
  'inline-builtin': ['warning', '!'],
  'inline-old': ['warning', '!'],
  'inline-degraded': ['warning', '!'],
  'failing-open': ['error', '×'],
  'failing-closed': ['error', '■'],
  'rules-rejected': ['error', '?'],
  watching: ['notice', '○'],
};

export const levelOf = (state: ShownState): Level => looks[state][0];
export const signOf = (state: ShownState): string => looks[state][1];
