// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { catalogues, sentByRouter } from '../../../build/messages';
import type { Message } from './t';

type Catalogue = Record<string, Message>;

const all = catalogues();
type Nested = { [key: string]: string | Nested };
const flat = (value: Nested, at = ''): Catalogue =>
  Object.assign(
    {},
    ...Object.entries(value).map(([key, inner]) =>
      typeof inner === 'string' ? { [at + key]: inner } : flat(inner, `${at}${key}.`),
    ),
  ) as Catalogue;
const read = (file: string | undefined) => {
  const value = JSON.parse(readFileSync(file ?? 'missing', 'utf8')) as Catalogue;
  return Object.values(sentByRouter).includes(file ?? '') ? flat(value as Nested) : value;
};
const english: Record<string, string> = { ...all['en'], ...sentByRouter };
const others = Object.entries(all).filter(([language]) => language !== 'en');

const forms = (message: Message | undefined) =>
  typeof message === 'object' ? Object.values(message) : [message ?? ''];
const holes = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

it('has a German catalogue for each English one', () => {
  expect(Object.keys(all)).toEqual(['de', 'en']);
  expect(Object.keys(all['de'] ?? {}).sort()).toEqual(Object.keys(english).sort());
});

describe.each(Object.entries(english))('the messages of %s', (part, file) => {
  const en = read(file);

  it('have unique keys in every language', () => {
    const files = [file, ...others.map(([, parts]) => parts[part])];
    for (const of of files.filter((each) => each !== sentByRouter[part])) {
      const text = readFileSync(of ?? 'missing', 'utf8');
      const keys = [...text.matchAll(/^ {2}"(.+?)": /gm)].map(([, key]) => key);
      expect(new Set(keys).size).toBe(Object.keys(read(of)).length);
      expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([]);
    }
  });

  it('are never empty', () => {
    for (const [key, message] of Object.entries(en)) {
      for (const form of forms(message)) expect(form, key).not.toBe('');
    }
  });

  it.each(others)('have the same keys in %s', (_, parts) => {
    expect(Object.keys(read(parts[part]))).toEqual(Object.keys(en));
  });

  it.each(others)('have the same parameters in %s', (language, parts) => {
    for (const [key, message] of Object.entries(read(parts[part]))) {
      const original = en[key];
      expect(typeof message, key).toBe(typeof original);
      for (const form of forms(message)) {
        expect(form, key).not.toBe('');
        expect(holes(form), key).toEqual(holes(forms(original).at(-1) ?? ''));
      }
      if (typeof message === 'string') continue;
      const wanted = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
      expect(Object.keys(message).sort(), key).toEqual([...wanted].sort());
    }
  });

  it.each(others)('are translated in %s', (_, parts) => {
    // Languages share names and terms, but hardly two words in a row and never a sentence.
    const words = (message: unknown) =>
      String(message)
        .replaceAll(/\{\w+\}/g, '')
        .match(/\p{L}+/gu) ?? [];
    const same = Object.entries(read(parts[part])).filter(
      ([key, message]) =>
        typeof message === 'string' &&
        message === en[key] &&
        message.includes(' ') &&
        words(message).length > 1,
    );
    for (const [key, message] of same) expect(words(message).length, key).toBeLessThan(3);
    expect(same.length).toBeLessThan(Object.keys(en).length / 16);
  });
});
