// SPDX-License-Identifier: GPL-2.0-or-later
/** State of inspection as shown: the daemon's, and whether its rules protect; level and sign. */

import type { IpsState, IpsSummary, Level } from '../api/types';

/** `inline` with only built-in test rules, or with a rule set older than the doctor accepts. */
export type ShownState = IpsState | 'inline-builtin' | 'inline-old';

/** Days after which the doctor reports the age of a rule set. */
export const OLD_DAYS = 7;
const DAY_MS = 24 * 3600 * 1000;

/** Age of a rule set in whole days. */
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
