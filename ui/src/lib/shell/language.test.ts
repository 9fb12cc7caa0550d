// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, expect, it } from 'vitest';
import { setLocale } from '../format/locale';
import { rate, text } from '../format/units';
import { setLanguage, t } from '../i18n/t';
import { Language } from './language.svelte';

function storage(stored: string | null = null) {
  return { stored, getItem: () => stored, setItem: (_: string, value: string) => (stored = value) };
}

afterEach(async () => {
  setLocale(undefined);
  await setLanguage('en');
});

it('is the browser’s language until the user chooses one', async () => {
  const language = new Language(undefined, ['fr-FR', 'de-AT', 'en'], storage());
  expect(language.fixed).toBe(false);
  await language.load();
  expect(language.tag).toBe('de');
  expect(t('nav.flows')).toBe('Verbindungen');
  expect(text(rate(1_500_000))).toBe('1,50 Mbit/s');
});

it('is the user’s last choice', async () => {
  const kept = storage('de');
  const language = new Language(undefined, ['en-GB'], kept);
  await language.load();
  expect(language.tag).toBe('de');
  await language.choose('en');
  expect(kept.getItem()).toBe('en');
  expect(t('nav.flows')).toBe('Flows');
});

it('is the host page’s language despite a choice, or English if it is unavailable', async () => {
  const german = new Language('de', ['en'], storage('en'));
  expect(german.fixed).toBe(true);
  await german.load();
  expect(german.tag).toBe('de');
  const french = new Language('fr', ['de'], storage('de'));
  await french.load();
  expect(french.tag).toBe('en');
});

it('does not change if another catalogue cannot be fetched', async () => {
  const kept = storage();
  const language = new Language(undefined, ['de'], kept);
  await language.load();
  await expect(language.choose('xx')).rejects.toThrow();
  expect([language.tag, kept.getItem(), t('nav.flows')]).toEqual(['de', null, 'Verbindungen']);
});
