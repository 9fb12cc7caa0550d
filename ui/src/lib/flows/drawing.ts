// SPDX-License-Identifier: GPL-2.0-or-later
/** How many new rows of the flow table are drawn between two frames (8), and which stay
 * meanwhile. */

/**
 * A slot of the table and the row drawn there; undefined where the row is not known, or not yet.
 */
export interface Slot<R> {
  index: number;
  row: R | undefined;
}

/**
 * Rows rendered between two frames: a slow browser needs four milliseconds for style and layout of
 * one, and a new sort order renders all of them again.
 */
export const PORTION = 8;

/**
 * The next frame between `drawn` and `wanted`: rows that are already drawn move at once, up to
 * `portion` new ones appear from the top, and the other slots keep their rows. `done` when nothing
 * is missing.
 */
export function towards<R extends { key: string }>(
  wanted: readonly Slot<R>[],
  drawn: readonly Slot<R>[],
  portion: number,
): { slots: readonly Slot<R>[]; done: boolean } {
  const before = new Map(drawn.map(({ index, row }) => [index, row]));
  const there = new Set(drawn.map(({ row }) => row?.key));
  let left = portion;
  const comes = wanted.map(({ row }) => !row || there.has(row.key) || left-- > 0);
  const taken = new Set(wanted.map(({ row }, i) => (comes[i] ? row?.key : undefined)));
  const slots = wanted.map((slot, i) => {
    if (comes[i]) return slot;
    const old = before.get(slot.index);
    return { index: slot.index, row: old && !taken.has(old.key) ? old : undefined };
  });
  return { slots, done: !comes.includes(false) };
}
