// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { allParts, setLanguage } from '../../i18n/t';
import type { Evidence, Finding } from '../report';
import german from './de.json';
import { inLanguage } from './text';

const found: Finding = {
  id: 'flowtable-missing',
  group: 'flowtable',
  code: 'flowtable-missing/absent',
  params: {},
  severity: 'error',
  about: ['nft_flow_offload'],
  accepted: [],
  title: 'The kernel does not support flowtables',
  consequence: 'Every packet traverses the stack.',
  remedy: 'Install the package.',
  evidence: [
    {
      code: 'module',
      params: { of: 'nf_flow_table' },
      what: 'kernel module nf_flow_table',
      value: '-',
      source: '/proc/modules',
    },
  ],
  gain: { text: 'About 3x throughput.', source: 'docs/doctor.md' },
  fix: { kind: 'step', label: 'Load the module' },
};

describe('a finding in English', () => {
  it('is unchanged', () => {
    expect(inLanguage(found)).toEqual(found);
  });
});

describe('a finding in German', () => {
  beforeEach(() => setLanguage('de').then(allParts));
  afterEach(() => setLanguage('en'));

  it('has the texts of its case, by default those of its check', () => {
    const shown = inLanguage(found);
    expect(shown.title).toBe(german['flowtable.flowtable-missing/absent.title']);
    expect(shown.remedy).toBe(german['flowtable.flowtable-missing/absent.remedy']);
    expect(shown.consequence).toBe(german['flowtable.flowtable-missing.consequence']);
    expect(shown.gain?.text).toBe(german['flowtable.flowtable-missing.gain']);
    expect(shown.gain?.source).toBe('docs/doctor.md');
    expect(shown.fix?.label).toBe(german['flowtable.flowtable-missing.fix']);
    expect(shown.evidence[0]?.what).toBe('Kernelmodul nf_flow_table');
  });

  it('has its parameters filled in', () => {
    const devices = { ...found, id: 'flowtable-devices', code: 'flowtable-devices' };
    const { title } = inLanguage({ ...devices, params: { devices: 'lan1, lan2' } });
    expect(title).toContain('lan1, lan2');
  });

  it('of a passed check has the good result as its title', () => {
    const texts = { title: 'Supported.', consequence: '', remedy: '', gain: null, fix: null };
    const good = { ...found, code: found.id, severity: 'ok' as const, evidence: [], ...texts };
    expect(inLanguage(good)).toEqual({ ...good, title: 'Der Kernel unterstützt Flowtables.' });
  });

  it('has the daemon’s reasons in its evidence and texts', () => {
    const why = 'Suricata is not running.';
    const seen = (cause: Evidence['cause']): Evidence => ({
      code: 'why',
      params: { of: '' },
      what: 'reason',
      value: why,
      source: 'ubus',
      ...(cause === undefined ? {} : { cause }),
    });
    const of = (cause: Evidence['cause']) =>
      inLanguage({
        ...found,
        id: 'ips-away',
        group: 'ips',
        code: 'ips-away/open',
        params: { why },
        evidence: [seen(cause)],
      });
    const shown = of({ kind: 'ips', code: 'absent', params: {} });
    expect(shown.evidence[0]?.value).toBe('Suricata läuft nicht.');
    expect(shown.consequence).toBe('Suricata läuft nicht.');
    for (const none of [undefined, null, { kind: 'ips', code: '', params: {} }] as const) {
      expect(of(none).evidence[0]?.value).toBe(why);
      expect(of(none).consequence).toBe(why);
    }
    const sources = [
      { name: 'et', message: why, cause: { code: 'nothing-yet' as const, params: {} } },
    ];
    const rules = of({ kind: 'rules', code: 'sources', params: { said: '' }, sources });
    expect(rules.evidence[0]?.value).toBe('et: noch nichts heruntergeladen');
  });

  it('of a check that could not run names the check and the reason', () => {
    const params = { why: 'reading /proc/modules: No such file or directory' };
    const unknown = { ...found, code: found.id, severity: 'unknown' as const, params };
    const shown = inLanguage({ ...unknown, remedy: '', gain: null, fix: null });
    expect(shown.title).toBe(german['flowtable.flowtable-missing.about']);
    expect(shown.consequence).toContain('/proc/modules');
    expect(shown.remedy).toBe('');
  });

  it('unknown to this page stays in English', () => {
    const newer = { ...found, id: 'newer', code: 'newer/case', evidence: [] };
    expect(inLanguage(newer)).toEqual(newer);
  });
});

describe('the German texts', () => {
  const entries = Object.entries(german).map(([key, text]) => [key, text.toLowerCase()] as const);

  it('do not call a flowtable a table', () => {
    const about = /^flowtable\.flowtable-(upper|counters|fw4)[./]/;
    for (const [key, text] of entries.filter(([key]) => about.test(key))) {
      expect(text.replaceAll('flowtable', ''), key).not.toMatch(/table|tabelle/);
    }
  });

  it('do not deny the counters of the firewall’s flowtable', () => {
    expect(german['flowtable.flowtable-fw4.consequence']).not.toMatch(/count|zähl/i);
  });
});
