// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, expect, it } from 'vitest';
import en from './en.json';
import { setLanguage, t } from './t';

afterEach(() => setLanguage('en'));

it('fills parameters and leaves unknown holes visible', () => {
  expect(t('wan.over', { device: 'pppoe-wan', port: 'wan' })).toBe('pppoe-wan over wan');
  expect(t('wan.over', { device: 'pppoe-wan' })).toBe('pppoe-wan over {port}');
});

it('chooses the plural form, of formatted numbers too', () => {
  expect(t('flows.held', { n: 1 })).toBe('1 update held');
  expect(t('flows.held', { n: 3 })).toBe('3 updates held');
  expect(t('flows.matched', { n: '1,001' })).toBe('1,001 flows');
});

it('shows the name of a word it does not know', () => {
  expect(t('reason.brand-new' as 'reason.idle')).toBe('reason.brand-new');
});

it('takes the first language it knows, English otherwise', () => {
  expect(setLanguage('xx', 'en-GB')).toBe('en');
  expect(setLanguage(undefined)).toBe('en');
});

it('has no empty message', () => {
  for (const [key, message] of Object.entries(en)) {
    const forms = typeof message === 'string' ? [message] : Object.values(message);
    for (const form of forms) expect(form, key).not.toBe('');
  }
});
