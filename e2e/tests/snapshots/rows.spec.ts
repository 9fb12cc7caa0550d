// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { RECORDING } from './replay';
import { rows } from './rows';

test('formats short values on one line, and long ones with a line per element', () => {
  expect(rows({ a: [1, 'two', null], b: {} })).toBe('{"a":[1,"two",null],"b":{}}');
  const long = 'x'.repeat(150);
  expect(rows({ a: [long, long], b: [] })).toBe(
    `{\n "a": [\n  "${long}",\n  "${long}"\n ],\n "b": []\n}`,
  );
});

test('the recorded answers have one row per line', () => {
  const text = readFileSync(RECORDING, 'utf8');
  expect(text).toBe(`${rows(JSON.parse(text))}\n`);
});
