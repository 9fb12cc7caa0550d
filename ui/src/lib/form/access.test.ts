// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { sentenceOf } from './access';

const base = { granted: true, from: 'lan', to: 'wan', ports: '', name: '', text: 'as it is' };

describe('access between zones', () => {
  it('is described by a sentence per kind of setting', () => {
    expect(sentenceOf({ ...base, code: 'zone' })).toBe('zone lan → zone wan');
    expect(sentenceOf({ ...base, code: 'router', to: '' })).toBe('zone lan → the router');
    expect(
      sentenceOf({
        ...base,
        code: 'port',
        from: 'wan',
        to: '10.0.0.2:8443',
        ports: 'tcp 443',
        name: 'Web',
      }),
    ).toBe('zone wan → 10.0.0.2:8443, tcp 443 (Web)');
    expect(sentenceOf({ ...base, code: 'rule', from: '*', ports: 'tcp 25' })).toBe(
      'all zones → zone wan, tcp 25',
    );
    expect(sentenceOf({ ...base, code: 'rule', name: 'Off' })).toBe(
      'zone lan → zone wan, all ports (Off)',
    );
  });

  it('has the router’s text for an unknown kind', () => {
    expect(sentenceOf({ ...base, code: 'tunnel' })).toBe('as it is');
  });
});
