// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import type { Sample } from '../live/ring';
import { digest, stack, thinned, usedPaths } from './stack';

const sample = (at_ms: number, slow: number, flowtable: number, hardware = 0): Sample => ({
  at_ms,
  bps: { slow, inspect: 0, flowtable, hardware, ebpf: 0 },
});

describe('stack', () => {
  it('puts the slow path at the bottom and sums the rows', () => {
    const samples = [sample(1000, 1, 10), sample(2000, 2, 20)];
    const used = usedPaths(samples);
    expect(used).toEqual(['slow', 'flowtable']);
    expect(stack(samples, used)).toEqual([
      [1, 2],
      [1, 2],
      [11, 22],
    ]);
  });

  it('has a row for each path with traffic', () => {
    expect(usedPaths([sample(1, 0, 0, 5)])).toEqual(['slow', 'flowtable', 'hardware']);
  });
});

describe('digest', () => {
  it('returns the peak, its time and the offloaded share', () => {
    const result = digest([sample(1, 10, 90), sample(2, 50, 350), sample(3, 0, 100)]);
    expect(result).toEqual({ peak: 400, peakAt_ms: 2, offloaded: 0.9 });
  });

  it('is null without traffic', () => {
    expect(digest([])).toBeNull();
    expect(digest([sample(1, 0, 0)])).toBeNull();
  });
});

it('thins the samples, newest first, and keeps the newest', () => {
  const samples = Array.from({ length: 300 }, (_, i) => sample(i, 1, 1));
  const few = thinned(samples, 10);
  expect(few).toHaveLength(10);
  expect(few[0]?.at_ms).toBe(299);
});
