// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import en from './en.json';
import { nameOf, terms } from './messages';

it('lists every term with an explanation', () => {
  const explained = Object.keys(en).flatMap((key) => /^term\.(.+)\.why$/.exec(key)?.[1] ?? []);
  expect([...terms].sort()).toEqual(explained.sort());
});

it('has a name for each term', () => {
  for (const term of terms) expect(nameOf(term)).not.toMatch(/^term\./);
});

it('explains each term on a screen', () => {
  const screens = import.meta.glob<string>('../*/*.svelte', {
    query: '?raw',
    import: 'default',
    eager: true,
  });
  const sources = Object.values(screens).filter((text) => /<Help|\bhelp=/.test(text));
  for (const term of terms) {
    expect(
      sources.some((text) => text.includes(`'${term}'`)),
      term,
    ).toBe(true);
  }
});
