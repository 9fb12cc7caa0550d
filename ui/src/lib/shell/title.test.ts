// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { fresh, seenAfter } from './title';

it('counts alerts since the first answer', () => {
  expect(fresh(undefined, undefined)).toBe(0);
  const seen = seenAfter(40, seenAfter(undefined, undefined, 'flows'), 'flows');
  expect(seen).toBe(40);
  expect(fresh(43, seenAfter(43, seen, 'flows'))).toBe(3);
});

it('counts alerts since Protection was shown', () => {
  const seen = seenAfter(43, 40, 'protection');
  expect(fresh(43, seen)).toBe(0);
  expect(fresh(44, seenAfter(44, seen, 'overview'))).toBe(1);
});

it('counts from zero after a restart of the daemon', () => {
  const seen = seenAfter(2, 43, 'overview');
  expect(fresh(2, seen)).toBe(0);
  expect(fresh(3, seenAfter(3, seen, 'overview'))).toBe(1);
});
