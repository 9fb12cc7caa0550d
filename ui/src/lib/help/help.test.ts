// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import en from './en.json';
import { nameOf, terms } from './messages';

it('explains every word that has an explanation in the list of them', () => {
  const explained = Object.keys(en).flatMap((key) => /^term\.(.+)\.why$/.exec(key)?.[1] ?? []);
  expect([...terms].sort()).toEqual(explained.sort());
});

it('has a name for each', () => {
  for (const term of terms) expect(nameOf(term)).not.toMatch(/^term\./);
});

it('explains each where it is used', () => {
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
