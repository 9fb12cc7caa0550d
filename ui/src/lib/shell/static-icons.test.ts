// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { staticIcon } from '../../../build/static-icons';

const at = createRequire(import.meta.url).resolve('@lucide/svelte/icons/zap');

test('converts an icon of the library to fixed markup', () => {
  const library = readFileSync(at.replace(/\.js$/, '.svelte'), 'utf8');
  const markup = staticIcon(library);
  expect(markup).toContain('<svg xmlns="http://www.w3.org/2000/svg" width={size} height={size}');
  expect(markup).toContain('class="lucide lucide-zap" aria-hidden="true"');
  const line = /"d": "([^"]+)"/.exec(library)?.[1];
  expect(line).toMatch(/^M/);
  expect(markup).toContain(`<path d="${line}" />`);
});

test('fails the build for an icon without the data of version 1.48', () => {
  expect(() => staticIcon('<Icon {...props} />')).toThrow('has no iconData');
});
