// SPDX-License-Identifier: GPL-2.0-or-later
/** Ranges of the flow table to draw and to fetch around the visible rows. */

/** Rows from `first` up to but excluding `end`. */
export interface Range {
  first: number;
  end: number;
}

/** Rows fetched around the visible ones; 200 rows are about 30 kB. */
export const WINDOW_ROWS = 160;
/**
 * Rows drawn above and below the visible ones, so that a quick scroll shows no gaps. Each costs a
 * slow browser two milliseconds.
 */
const OVERSCAN = 4;
/** Minimum number of known rows beyond the visible ones before a new window is fetched. */
const MARGIN = 30;

/** Returns the rows to draw at a scroll position. */
export function drawn(top: number, height: number, rowHeight: number, total: number): Range {
  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
  const end = Math.min(total, Math.ceil((top + height) / rowHeight) + OVERSCAN);
  return { first: Math.min(first, end), end };
}

/** Returns the rows to fetch around the visible ones, inside the table. */
export function windowAround(visible: Range, total: number): { offset: number; limit: number } {
  const limit = Math.max(WINDOW_ROWS, visible.end - visible.first);
  const middle = Math.floor((visible.first + visible.end) / 2);
  const last = Math.max(0, total - limit);
  return { offset: Math.min(last, Math.max(0, middle - Math.floor(limit / 2))), limit };
}

/** Reports whether fewer than `MARGIN` known rows remain beyond the visible ones. */
export function isShort(known: Range, visible: Range, total: number): boolean {
  const needFirst = Math.max(0, visible.first - MARGIN);
  const needEnd = Math.min(total, visible.end + MARGIN);
  return known.first > needFirst || known.end < needEnd;
}
