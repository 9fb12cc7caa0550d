// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** Components that open a form elsewhere in the page, so they must move the focus there. */
const forms = [
  'network/VlanForm.svelte',
  'wifi/SsidForm.svelte',
  'firewall/Forwards.svelte',
  'fastpath/Screen.svelte',
];

it.each(forms)('the focus moves into the form that %s opens', (file) => {
  const source = readFileSync(`${import.meta.dirname}/../${file}`, 'utf8');
  expect(source).toMatch(/\{@attach [^}]*focusFirst\}/);
});

const sources = import.meta.glob<string>('../**/*.svelte', {
  query: '?raw',
  import: 'default',
  eager: true,
});

it('no <details> has a dynamic attribute `open`, which would collapse it again', () => {
  expect(Object.keys(sources).length).toBeGreaterThan(100);
  const folds = Object.entries(sources).filter(([, source]) =>
    /<details\b[^>]*\s(open=\{|\{open\})/.test(source),
  );
  expect(folds.map(([file]) => file)).toEqual([]);
});
