// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, expect, it } from 'vitest';
import { known, setLanguage, t, tags } from './t';

afterEach(() => setLanguage('en'));

it('fills parameters and keeps unknown placeholders visible', () => {
  expect(t('wan.over', { device: 'pppoe-wan', port: 'wan' })).toBe('pppoe-wan over wan');
  expect(t('wan.over', { device: 'pppoe-wan' })).toBe('pppoe-wan over {port}');
});

it('chooses the plural form, also for formatted numbers', () => {
  expect(t('flows.held', { n: 1 })).toBe('Paused while you read · 1 update');
  expect(t('flows.held', { n: 3 })).toBe('Paused while you read · 3 updates');
  expect(t('flows.matched', { n: '1,001' })).toBe('1,001 flows');
});

it('reads the German thousands separator', async () => {
  await setLanguage('de');
  expect(t('flows.matched', { n: '1.001' })).toBe('1.001 Verbindungen');
  expect(t('flows.matched', { n: 1 })).toBe('1 Verbindung');
});

it('shows the key of a missing message', () => {
  expect(t('reason.brand-new' as 'reason.idle')).toBe('reason.brand-new');
});

it('chooses the first available language, by default English', () => {
  expect(tags).toEqual(['de', 'en']);
  expect(known('xx', 'en-GB')).toBe('en');
  expect(known('fr', 'de-AT', 'en')).toBe('de');
  expect(known('de_CH')).toBe('de');
  expect(known('constructor')).toBe('en');
  expect(known(undefined)).toBe('en');
});

it('keeps its messages when a language is missing', async () => {
  await expect(setLanguage('xx')).rejects.toThrow('xx');
  expect(t('nav.flows')).toBe('Flows');
});
