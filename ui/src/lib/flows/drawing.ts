// SPDX-License-Identifier: GPL-2.0-or-later

/** A place of the table and what is drawn there; nothing where its row is not known, or not yet. */
export interface Slot<R> {
  index: number;
  row: R | undefined;
}

/**
 * Rows made anew between two frames: style and layout of one take a slow browser four
 * milliseconds, and a table that is sorted otherwise has all of them anew.
 */
export const PORTION = 8;

/**
 * The next picture on the way from what is `drawn` to what is `wanted`: rows that are there already
 * move at once, of others come as many as `portion`, from the top; until then a place keeps what
 * it had. `done` when nothing is missing.
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
