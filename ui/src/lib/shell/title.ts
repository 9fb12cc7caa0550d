// SPDX-License-Identifier: GPL-2.0-or-later

import type { Screen } from './route.svelte';

/**
 * Returns the id of the newest alert that the user has seen.
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
  // A restarted daemon may count from one.
  const first = seen === undefined || alerts < seen;
  return first || screen === 'protection' ? alerts : seen;
}

export function fresh(alerts: number | undefined, seen: number | undefined): number {
  return alerts === undefined || seen === undefined ? 0 : Math.max(0, alerts - seen);
}
