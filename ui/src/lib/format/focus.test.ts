// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** Components that open a form by a button elsewhere: keys would have to look for it. */
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
