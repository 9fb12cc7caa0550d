// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, describe, expect, it } from 'vitest';
import type { Health } from '../api/types';
import { setLanguage } from '../i18n/t';
import { textOf } from './health';

describe('a finding of the daemon', () => {
  afterEach(() => setLanguage('en'));

  const open: Health = {
    code: 'open-to-internet',
    level: 'error',
    text: 'as the daemon says it',
    open: [
      { zone: 'wan', to: '' },
      { zone: 'wan', to: 'lan' },
      { zone: 'lte', to: '*' },
    ],
  };

  it('about an open router is in the language of the page', async () => {
    expect(textOf(open)).toBe(
      'Exposed to the Internet: anyone can reach the router itself (from zone wan), ' +
        'zone lan (from zone wan), every zone (from zone lte). Close it under Firewall.',
    );
    await setLanguage('de');
    expect(textOf(open)).toContain('Von dort erreicht jeder den Router selbst (aus Zone wan)');
  });

  it('of another kind has the daemon’s text', () => {
    expect(textOf({ code: 'resync', level: 'notice', text: 'Read again.' })).toBe('Read again.');
  });
});
