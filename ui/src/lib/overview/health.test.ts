// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, describe, expect, it } from 'vitest';
import type { Health } from '../api/types';
import { setLanguage } from '../i18n/t';
import { textOf } from './health';

describe('a finding of the daemon', () => {
  afterEach(() => setLanguage('en'));

  const open: Health = {
    code: 'system-wan-open',
    level: 'error',
    params: {},
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

  it('has the values of its parameters, in the language of the page', async () => {
    const full: Health = {
      code: 'conntrack-full',
      level: 'warning',
      params: { count: 950, limit: 1000 },
      text: 'as the daemon says it',
    };
    expect(textOf(full)).toBe('Conntrack is nearly full: 950 of 1000.');
    await setLanguage('de');
    expect(textOf(full)).toBe('Conntrack ist fast voll: 950 von 1000.');
  });

  it('about a WAN interface names the reason, if it is known', () => {
    const down = (hindrance: string): Health => ({
      code: 'wan-down',
      level: 'error',
      params: { name: 'wan', port: 'eth0', hindrance },
      text: '',
    });
    expect(textOf(down(''))).toBe('wan is down.');
    expect(textOf(down('port-down'))).toBe('wan is down: its port eth0 is switched off.');
    expect(textOf(down('no-link'))).toBe('wan is down: its port has no link.');
  });

  it('with a code that this page does not know is in English', () => {
    const newer = { code: 'newer', level: 'notice', params: {}, text: 'Newer.' };
    expect(textOf(newer as unknown as Health)).toBe('Newer.');
  });
});
