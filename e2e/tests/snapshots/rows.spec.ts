// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { RECORDING } from './replay';
import { rows } from './rows';

test('a short value is on one line, a long one is on a line for each element', () => {
  expect(rows({ a: [1, 'two', null], b: {} })).toBe('{"a":[1,"two",null],"b":{}}');
  const long = 'x'.repeat(150);
  expect(rows({ a: [long, long], b: [] })).toBe(
    `{\n "a": [\n  "${long}",\n  "${long}"\n ],\n "b": []\n}`,
  );
});

test('the recorded answers have one row a line', () => {
  const text = readFileSync(RECORDING, 'utf8');
  expect(text).toBe(`${rows(JSON.parse(text))}\n`);
});
