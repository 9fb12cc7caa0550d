// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { midnight, slotsOf, sumOf } from './usage';

const cols = ['at_ms', 'recorded_s', 'up_bytes', 'down_bytes', 'offloaded_bytes'];
const QUARTER = 900_000;
const now = 1_796_000_000_000;
const last = Math.floor(now / QUARTER) * QUARTER;
const rows = [
  [last - 96 * QUARTER, 900, 1, 2, 0],
  [last - 95 * QUARTER, 900, 3, 4, 0],
  [last, 60, 0, 0, 0],
];

it('shows the quarter hours of 24 hours, without a value where nothing was recorded', () => {
  const slots = slotsOf({ cols, rows }, now);
  expect(slots).toHaveLength(96);
  expect([slots[0], slots[1], slots[95]]).toEqual([[4, 3], null, [0, 0]]);
  expect(slotsOf({ cols, rows: [] }, now).every((slot) => slot === null)).toBe(true);
});

it('sums the periods that begin in a span', () => {
  expect(sumOf({ cols, rows }, 0)).toEqual([6, 4]);
  expect(sumOf({ cols, rows }, last - 95 * QUARTER)).toEqual([4, 3]);
  expect(sumOf({ cols, rows }, last + 1)).toBeNull();
});

it('a day begins at midnight of the browser', () => {
  const day = new Date(midnight(now));
  expect([day.getHours(), day.getMinutes(), now - day.getTime() < 25 * 3600_000]).toEqual([
    0,
    0,
    true,
  ]);
});
