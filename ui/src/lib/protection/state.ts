// SPDX-License-Identifier: GPL-2.0-or-later
/** Level and sign of each state of inspection. */

import type { IpsState, Level } from '../api/types';

/** How bad each state is; `off` is neither good nor bad. */
const levels: Record<IpsState, Level> = {
  off: 'notice',
  starting: 'notice',
  inline: 'ok',
  'inline-degraded': 'warning',
  'failing-open': 'error',
  'failing-closed': 'error',
  'rules-rejected': 'error',
  watching: 'notice',
};

/** A sign of its own for each, so that colour is never the only difference. */
const signs: Record<IpsState, string> = {
  off: '–',
  starting: '…',
  inline: '✓',
  'inline-degraded': '!',
  'failing-open': '×',
  'failing-closed': '■',
  'rules-rejected': '?',
  watching: '○',
};

export function levelOf(state: IpsState): Level {
  return levels[state];
}

export function signOf(state: IpsState): string {
  return signs[state];
}
