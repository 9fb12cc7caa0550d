// SPDX-License-Identifier: GPL-2.0-or-later

import type { IpsState, IpsSummary, Level } from '../api/types';

/**
 * `inline-builtin`: only built-in test rules; `inline-old`: rule sources unreachable for more than
 * `OLD_DAYS`.
 */
export type ShownState = IpsState | 'inline-builtin' | 'inline-old';

/** The doctor's limit in days without contact to the rule sources. */
export const OLD_DAYS = 7;
const DAY_MS = 24 * 3600 * 1000;

/** Returns the full days since the last contact to the rule sources. */
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
 * Level and sign of each state. `off` is neither good nor bad. Signs differ, so that states differ
 * without colour.
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
