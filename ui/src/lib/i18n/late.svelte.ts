// SPDX-License-Identifier: GPL-2.0-or-later
/** The arrival of messages that the first screen does not wait for. */

let arrivals = $state(0);

/** Text that was made without them is made again. */
export function partsArrived(): void {
  arrivals += 1;
}

/** Called while making a text: makes it depend on the arrival. */
export const awaitParts = (): number => arrivals;
