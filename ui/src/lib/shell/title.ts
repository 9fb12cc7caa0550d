// SPDX-License-Identifier: GPL-2.0-or-later
/** Counts new alerts, for the title of the document and the badges. */

import type { Screen } from './route.svelte';

/**
 * Returns the id of the newest alert that counts as seen after an answer of the router.
 *
 * @param alerts id of the newest alert; undefined before the first answer
 * @param seen previous result
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

/** Returns the number of new alerts. */
export function fresh(alerts: number | undefined, seen: number | undefined): number {
  return alerts === undefined || seen === undefined ? 0 : Math.max(0, alerts - seen);
}
