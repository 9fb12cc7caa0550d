// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { paths } from '../path/path';
import { textures } from './texture';

it('draws each path otherwise', () => {
  const drawn = paths.map((path) => textures[path]);
  expect(new Set(drawn).size).toBe(paths.length);
});
