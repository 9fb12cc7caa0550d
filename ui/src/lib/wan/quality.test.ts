// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { dayFrom, overall, qualityOf } from './quality';

const cols = ['at_ms', 'up_bytes', 'down_bytes', 'probes', 'lost', 'min_us', 'mean_us', 'max_us'];
const QUARTER = 900_000;
const from = dayFrom(1_796_000_000_000);
const rows = [
  [from - QUARTER, 1, 1, 90, 0, 1, 1, 1],
  [from, 1, 1, 90, 30, 8000, 10_000, 20_000],
  [from + QUARTER, 5, 5, 0, 0, 0, 0, 0],
  [from + 95 * QUARTER, 0, 0, 30, 30, 0, 0, 0],
];
const usage = { wans: [{ name: 'interface-of-15', cols, rows }] };

it('a quarter hour without a probe has no value', () => {
  const slots = qualityOf(usage, 'interface-of-15-and-more', from);
  const [first, last] = [slots[0], slots[95]];
  expect(slots.filter((slot) => slot !== null)).toEqual([first, last]);
  expect(first).toEqual({ probes: 90, lost: 30, min_us: 8000, mean_us: 10_000, max_us: 20_000 });
  expect(last).toMatchObject({ probes: 30, lost: 30 });
  expect(overall(qualityOf(usage, 'wan', from))).toBeNull();
});

it('the mean is of answered probes only', () => {
  const second = [from + 2 * QUARTER, 0, 0, 30, 10, 4000, 30_000, 90_000];
  const wans = [{ name: 'wan', cols, rows: [...rows, second] }];
  const all = overall(qualityOf({ wans }, 'wan', from));
  expect(all).toEqual({ probes: 150, lost: 70, min_us: 4000, mean_us: 15_000, max_us: 90_000 });
});
