// SPDX-License-Identifier: GPL-2.0-or-later
/** Which alerts are new, for the title of the document. */

import type { Screen } from './route.svelte';

/**
 * The number of the newest alert that counts as seen after an answer of the router.
 *
 * @param alerts the newest one; undefined before the first answer
 * @param seen the one before
 */
export function seenAfter(
  alerts: number | undefined,
  seen: number | undefined,
  screen: Screen,
): number | undefined {
  if (alerts === undefined) return seen;
  // A restarted daemon may count from one again.
  const first = seen === undefined || alerts < seen;
  return first || screen === 'protection' ? alerts : seen;
}

/** How many alerts are new. */
export function fresh(alerts: number | undefined, seen: number | undefined): number {
  return alerts === undefined || seen === undefined ? 0 : Math.max(0, alerts - seen);
}
