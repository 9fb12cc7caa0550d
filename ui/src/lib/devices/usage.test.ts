// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import type { Usage } from '../api/types';
import { bytesByMac, sumOf } from './usage';

const cols = ['at_ms', 'recorded_s', 'up_bytes', 'down_bytes', 'offloaded_bytes'];
const rows = [
  [1000, 900, 1, 2, 0],
  [2000, 900, 3, 4, 0],
  [3000, 60, 0, 0, 0],
];

it('sums the periods that begin in a span', () => {
  expect(sumOf({ cols, rows }, 0)).toEqual([6, 4]);
  expect(sumOf({ cols, rows }, 2000)).toEqual([4, 3]);
  expect(sumOf({ cols, rows }, 3001)).toBeNull();
});

it('bytes of devices are unknown, not zero, if nothing was recorded', () => {
  const devices = [{ mac: 'a', up_bytes: 1, down_bytes: 2, offloaded_bytes: 0 }];
  expect(bytesByMac({ cols, rows, devices } as unknown as Usage)).toEqual(new Map([['a', 3]]));
  expect(bytesByMac({ cols, rows: [], devices } as unknown as Usage)).toBeNull();
});
