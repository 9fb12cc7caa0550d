// SPDX-License-Identifier: GPL-2.0-or-later
/** Geometry of a chart: top of the axis (at least 1 Mbit/s), marks of both axes, areas, nearest
 * sample. */

import type { Stack } from './stack';

/** The ranges of a chart, and its size: times in seconds, heights in bits per second. */
export interface Frame {
  width: number;
  height: number;
  from: number;
  to: number;
  top: number;
}

/** A small line's axis should not show its noise full size. */
const SMALLEST_TOP = 1e6;
/** Room between two marks of an axis, in pixels. */
const BETWEEN_ROWS = 40;
const BETWEEN_TIMES = 80;

export function topOf(stack: Stack): number {
  const highest = Math.max(0, ...(stack.at(-1) ?? []));
  return Math.max(SMALLEST_TOP, highest * 1.08);
}

export function xOf(frame: Frame, at: number): number {
  return ((at - frame.from) / (frame.to - frame.from)) * frame.width;
}

export function yOf(frame: Frame, value: number): number {
  return frame.height * (1 - value / frame.top);
}

/**
 * The ranges in which a row has a height, as pairs of indexes from `first` on. A range includes the
 * samples next to it, where its edge starts to rise and ends its fall.
 */
function spans(row: readonly number[], below: readonly number[], first: number) {
  const found: [number, number][] = [];
  const high = (i: number) => (row[i] ?? 0) > (below[i] ?? 0);
  for (let i = first; i < row.length; i += 1) {
    if (!high(i)) continue;
    const from = Math.max(first, i - 1);
    const to = Math.min(row.length - 1, i + 1);
    const last = found.at(-1);
    if (last && from < last[1]) last[1] = to;
    else found.push([from, to]);
  }
  return found;
}

/**
 * The areas of each row of the stack, each from the row below it up to its own. Where a row has no
 * height it has no area: its edge would be a line in the colour of an idle path.
 */
export function areas(stack: Stack, frame: Frame): string[] {
  const [times = [], ...rows] = stack;
  // One more before the span, so that the first line comes from outside.
  const first = Math.max(0, times.findIndex((at) => at >= frame.from) - 1);
  const points = (row: readonly number[], [from, to]: [number, number]) =>
    times.slice(from, to + 1).map((at, i) => {
      return `${xOf(frame, at).toFixed(1)} ${yOf(frame, row[from + i] ?? 0).toFixed(1)}`;
    });
  return rows.map((row, i) => {
    const below = rows[i - 1] ?? row.map(() => 0);
    const area = (span: [number, number]) =>
      `M${[...points(row, span), ...points(below, span).reverse()].join('L')}Z`;
    return spans(row, below, first).map(area).join('');
  });
}

/** Round values from zero up, as many as there is room for. */
export function rowMarks(frame: Frame): number[] {
  const most = Math.max(2, Math.floor(frame.height / BETWEEN_ROWS));
  const scale = 10 ** Math.floor(Math.log10(frame.top / most));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * scale).find((s) => frame.top / s <= most);
  const every = step ?? frame.top;
  return Array.from({ length: Math.floor(frame.top / every) + 1 }, (_, i) => i * every);
}

/** Whole minutes, as many as there is room for, as Unix seconds. */
export function timeMarks(frame: Frame): number[] {
  const most = Math.max(1, Math.floor(frame.width / BETWEEN_TIMES));
  const every = 60 * Math.ceil((frame.to - frame.from) / 60 / most);
  const first = Math.ceil(frame.from / every) * every;
  const number = Math.max(0, Math.floor((frame.to - first) / every) + 1);
  return Array.from({ length: number }, (_, i) => first + i * every);
}

/** Which of the times is nearest to a place on the chart; null when there are none. */
export function nearest(times: readonly number[], frame: Frame, x: number): number | null {
  let best: number | null = null;
  times.forEach((at, i) => {
    const nearer = Math.abs(xOf(frame, at) - x);
    if (best === null || nearer < Math.abs(xOf(frame, times[best] ?? 0) - x)) best = i;
  });
  return best;
}
