// SPDX-License-Identifier: GPL-2.0-or-later

type Row = ArrayLike<number | null | undefined>;

/** Minimum top of the axis in bit/s, which keeps the noise of an idle WAN small. */
const MIN_TOP = 1e6;

export function topOf(highest: number | null): number {
  return Math.max(MIN_TOP, (highest ?? 0) * 1.08);
}

/**
 * Returns the ranges between `first` and `last` in which `row` is higher than `below`, as pairs of
 * indexes. A range includes the adjacent samples, where its edge begins to rise and ends its fall.
 *
 * @param apart reports whether there is no record between a sample and the next one
 */
export function spans(
  row: Row,
  below: Row | null,
  first: number,
  last: number,
  apart: (i: number) => boolean = () => false,
) {
  const found: [number, number][] = [];
  const high = (i: number) => (row[i] ?? 0) > (below?.[i] ?? 0);
  for (let i = first; i <= last; i += 1) {
    if (!high(i)) continue;
    const from = apart(i - 1) ? i : Math.max(first, i - 1);
    const to = apart(i) ? i : Math.min(last, i + 1);
    const previous = found.at(-1);
    if (previous && from < previous[1]) previous[1] = to;
    else found.push([from, to]);
  }
  return found;
}

export interface Pen {
  moveTo: (x: number, y: number) => void;
  lineTo: (x: number, y: number) => void;
  closePath: () => void;
}

export interface Piece {
  times: Row;
  row: Row;
  below: Row | null;
  x: (at: number) => number;
  y: (value: number) => number;
}

/** Draws the outline from sample `from` to `to` along the row, and back along the row below. */
export function outline(pen: Pen, piece: Piece, [from, to]: [number, number]): void {
  const { times, row, below, x, y } = piece;
  for (let i = from; i <= to; i += 1) {
    const at = x(times[i] ?? 0);
    if (i === from) pen.moveTo(at, y(row[i] ?? 0));
    else pen.lineTo(at, y(row[i] ?? 0));
  }
  for (let i = to; i >= from; i -= 1) pen.lineTo(x(times[i] ?? 0), y(below?.[i] ?? 0));
  pen.closePath();
}
