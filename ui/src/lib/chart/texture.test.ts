// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { paths } from '../path/path';
import { sideOf, textures } from './texture';

it('draws each path with its own pattern', () => {
  const drawn = paths.map((path) => textures[path]);
  expect(new Set(drawn).size).toBe(paths.length);
});

it('rounds tiles to whole pixels', () => {
  expect([0.05, 0.5, 1, 1.25, 2].map(sideOf)).toEqual([1, 4, 8, 10, 16]);
});
