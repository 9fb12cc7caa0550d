// SPDX-License-Identifier: GPL-2.0-or-later

let arrivals = $state(0);

/** Re-renders texts that were rendered before their messages arrived. */
export function partsArrived(): void {
  arrivals += 1;
}

/** Makes the calling effect or derived value depend on the arrival of late messages. */
export const awaitParts = (): number => arrivals;
