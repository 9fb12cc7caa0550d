// SPDX-License-Identifier: GPL-2.0-or-later
/** Signals the arrival of messages that the first screen does not wait for. */

let arrivals = $state(0);

/** Updates texts that were made without the late messages. */
export function partsArrived(): void {
  arrivals += 1;
}

/** Makes the calling computation depend on the arrival of the late messages. */
export const awaitParts = (): number => arrivals;
