// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, describe, expect, it } from 'vitest';
import type { RulesCause, SourceCause } from '../api/types';
import { setLanguage } from '../i18n/t';
import { messageOf, updateMessage } from './rules';

describe('the message of an update', () => {
  afterEach(() => setLanguage('en'));

  const url = 'https://h.example/rules.tar.gz';
  const failed: SourceCause = { code: 'server-error', params: { url } };
  const good: SourceCause = { code: '', params: {} };
  const et = { name: 'et', message: 'in English', cause: failed };
  const sources = [et, { name: 'abuse', message: '', cause: good }];
  const of = (code: RulesCause['code'], params = {}, message = 'in English') =>
    updateMessage({ message, cause: { code, params }, sources });

  it('contains the messages of the sources in the language of the page', async () => {
    await setLanguage('de');
    const each = `et: Download von ${url} fehlgeschlagen: Der Server antwortete mit einem Fehler`;
    expect(of('sources', { said: 'et: in English' })).toBe(each);
    expect(of('no-rules', { said: 'et: in English' })).toBe(
      `keine Quelle hat verwendbare Regeln: ${each}`,
    );
    expect(messageOf(et)).toBe(each.slice('et: '.length));
  });

  it('is the current step or the reason of a failure', async () => {
    await setLanguage('de');
    expect(of('download', { source: 'et' })).toBe('et wird heruntergeladen');
    expect(of('busy')).toBe('eine andere Aktualisierung läuft');
  });

  it('names an invalid rule line in the language of the page', async () => {
    await setLanguage('de');
    const params = { file: 'b.rules', line: '3', inner: 'twice', option: 'sid' };
    const cause: SourceCause = { code: 'rule-line', params };
    expect(messageOf({ message: 'in English', cause })).toBe(
      'b.rules Zeile 3: die Regel hat sid doppelt',
    );
  });

  it('is the router’s text if a source has no code or no source is listed', () => {
    expect(of('', {})).toBe('in English');
    expect(updateMessage({ message: 'older', sources: [] })).toBe('older');
    expect(messageOf({ message: 'older' })).toBe('older');
    const old = [{ name: 'et', message: 'gone', cause: good }];
    const cause = { code: 'sources' as const, params: { said: 'et: gone' } };
    expect(updateMessage({ message: 'et: gone', cause, sources: old })).toBe('et: gone');
    expect(updateMessage({ message: 'et: gone', cause, sources: [] })).toBe('et: gone');
  });
});
