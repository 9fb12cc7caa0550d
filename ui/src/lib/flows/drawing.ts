// SPDX-License-Identifier: GPL-2.0-or-later

/** A slot of the table; `row` is `undefined` if it is unknown or not drawn yet. */
export interface Slot<R> {
  index: number;
  row: R | undefined;
}

/**
 * New rows per frame. A slow browser needs 4 ms per row for style and layout, and a new order
 * renders all rows.
 */
export const PORTION = 8;

/**
 * Returns the next frame between `drawn` and `wanted`: known rows move at once, up to `portion` new
 * rows appear from the top, and other slots keep their rows. `done` is true if no row is missing.
 */
export function nextFrame<R extends { key: string }>(
  wanted: readonly Slot<R>[],
  drawn: readonly Slot<R>[],
  portion: number,
): { slots: readonly Slot<R>[]; done: boolean } {
  const before = new Map(drawn.map(({ index, row }) => [index, row]));
  const visible = new Set(drawn.map(({ row }) => row?.key));
  let left = portion;
  const ready = wanted.map(({ row }) => !row || visible.has(row.key) || left-- > 0);
  const taken = new Set(wanted.map(({ row }, i) => (ready[i] ? row?.key : undefined)));
  const slots = wanted.map((slot, i) => {
    if (ready[i]) return slot;
    const old = before.get(slot.index);
    return { index: slot.index, row: old && !taken.has(old.key) ? old : undefined };
  });
  return { slots, done: !ready.includes(false) };
}
