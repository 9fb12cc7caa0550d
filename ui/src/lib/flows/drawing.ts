// SPDX-License-Identifier: GPL-2.0-or-later
/** Draws new rows of the flow table in portions, so that a frame stays short. */

/** A slot of the table with its row; `row` is undefined if it is unknown or not drawn yet. */
export interface Slot<R> {
  index: number;
  row: R | undefined;
}

/**
 * Rows rendered between two frames. A slow browser needs four milliseconds per row for style and
 * layout, and a new sort order renders all rows again.
 */
export const PORTION = 8;

/**
 * Returns the next frame between `drawn` and `wanted`. Rows that are already drawn move at once, up
 * to `portion` new ones appear from the top, and the other slots keep their rows. `done` if no row
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
