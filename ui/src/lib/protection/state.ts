// SPDX-License-Identifier: GPL-2.0-or-later
/** Level and sign of each state of inspection. */

import type { IpsState, Level } from '../api/types';

/**
 * How bad each state is, `off` being neither good nor bad, and a sign of its own, so that colour is
 * never the only difference.
 */
const looks: Record<IpsState, readonly [Level, string]> = {
  off: ['notice', '–'],
  starting: ['notice', '…'],
  inline: ['ok', '✓'],
  'inline-degraded': ['warning', '!'],
  'failing-open': ['error', '×'],
  'failing-closed': ['error', '■'],
  'rules-rejected': ['error', '?'],
  watching: ['notice', '○'],
};

export const levelOf = (state: IpsState): Level => looks[state][0];
export const signOf = (state: IpsState): string => looks[state][1];
