// SPDX-License-Identifier: GPL-2.0-or-later

/** Rows from `first` to `end`, which is excluded. */
export interface Range {
  first: number;
  end: number;
}

/** Rows per fetch; 200 rows are about 30 kB. */
export const WINDOW_ROWS = 160;
/**
 * Rows drawn beyond the visible ones, so that a quick scroll shows no gaps. A row takes a slow
 * browser 2 ms.
 */
const OVERSCAN = 4;
/** Fetch more when fewer known rows remain beyond the visible ones. */
const MARGIN = 30;

export function drawn(top: number, height: number, rowHeight: number, total: number): Range {
  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
  const end = Math.min(total, Math.ceil((top + height) / rowHeight) + OVERSCAN);
  return { first: Math.min(first, end), end };
}

export function windowAround(visible: Range, total: number): { offset: number; limit: number } {
  const limit = Math.max(WINDOW_ROWS, visible.end - visible.first);
  const middle = Math.floor((visible.first + visible.end) / 2);
  const last = Math.max(0, total - limit);
  return { offset: Math.min(last, Math.max(0, middle - Math.floor(limit / 2))), limit };
}

export function isShort(known: Range, visible: Range, total: number): boolean {
  const needFirst = Math.max(0, visible.first - MARGIN);
  const needEnd = Math.min(total, visible.end + MARGIN);
  return known.first > needFirst || known.end < needEnd;
}
