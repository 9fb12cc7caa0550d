// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Export } from '../api/types';
import { Router, type Problem } from '../form/change.svelte';
import { defaults } from '../form/defaults';
import { Draft } from '../form/draft.svelte';
import { maybe } from '../form/messages';
import type { Options, Section } from '../form/sections';
import {
  addressOf,
  advanced,
  freeName,
  isEditable,
  isHost,
  isRefused,
  looks,
  main,
  nameOf,
  othersOf,
  problemsOf,
  reportOf,
  stateOf,
  transportOf,
} from './collectors';

const section = (name: string, values: Options, label?: string): Section => ({
  section: name,
  type: 'export',
  anonymous: label !== undefined,
  values,
  label: label ?? name,
});

const report = (name: string, of: Partial<Export> = {}): Export => ({
  ...{
    name,
    kind: 'ipfix',
    protocol: 'udp',
    host: '192.0.2.10',
    port: 4739,
    state: 'up',
    since_ms: 1,
  },
  ...{ sent: 0, lost: 0, queued: 0, why: '', cause: { code: '', params: {} } },
  ...of,
});

describe('options and defaults', () => {
  const page = readFileSync(new URL('../../../../docs/ipfix.md', import.meta.url), 'utf8');
  const [setup = ''] = page.split('## When');
  const row = (option: string) => new RegExp(`^\\| \`${option}\` \\| (.*)\\| (.*) \\|$`, 'm');
  const specs = [...main, ...advanced];

  it.each(specs.map((spec) => [spec.option, spec] as const))(
    'match the documentation for %s',
    (option, { range }) => {
      const [, given = '', text = ''] = row(option).exec(setup) ?? [];
      expect(text).not.toBe('');
      const known: Record<string, string> = defaults.export;
      if (option in known) expect(given.trim()).toBe(`\`${known[option]}\``);
      const documented = /(\d+) to (\d+)/.exec(text)?.slice(1).map(Number);
      if (documented || range?.[0] !== 0) expect(documented).toEqual(range);
    },
  );

  it('are in the catalogue', () => {
    const labels = specs.map(({ option }) => maybe(`export.${option}`));
    expect(labels.filter((label) => label === '')).toEqual([]);
    expect(new Set(labels).size).toBe(specs.length);
  });
});

describe('an address of a collector', () => {
  it.each(['192.0.2.10', '10.0.0.1', '255.0.0.1', '2001:db8::10', '::1', '::ffff:192.0.2.1'])(
    'is %s',
    (host) => expect(isHost(host)).toBe(true),
  );

  it.each([
    ...['collector.example', '224.0.0.1', '0.0.0.0', '255.255.255.255', '::', 'ff02::1', '1.2.3'],
    ...['1.2.3.4.5', '1.2.3.256', '01.2.3.4', '1.2.3.4:80', '[::1]', 'fe80::1%lan', ' ', '1.2.3.'],
  ])('is not %j', (host) => expect(isHost(host)).toBe(false));
});

describe('the enterprise number', () => {
  const { check, range } = advanced.find(({ option }) => option === 'enterprise') ?? {};

  it('is neither IANA’s number nor that of reverse elements', () => {
    expect(range).toEqual([1, 2 ** 32 - 1]);
    expect(['29305', '029305'].map((number) => check?.(number))).not.toContain('');
    expect(['1', '32473', '29304'].map((number) => check?.(number))).toEqual(['', '', '']);
  });
});

describe('a row', () => {
  it('shows the address with its port, and the transport', () => {
    expect(addressOf(section('a', { host: '192.0.2.10' }))).toBe('192.0.2.10:4739');
    expect(addressOf(section('a', { host: '2001:db8::1', port: '2055' }))).toBe(
      '[2001:db8::1]:2055',
    );
    expect(addressOf(section('a', {}))).toBe('');
    expect(transportOf(section('a', {}))).toBe('IPFIX, UDP');
    expect(transportOf(section('a', { protocol: 'tcp' }))).toBe('IPFIX, TCP');
  });

  it('of another kind has no IPFIX defaults and no form', () => {
    const syslog = section('log', { kind: 'syslog', host: '192.0.2.10' });
    expect(isEditable(syslog)).toBe(false);
    expect(isEditable(section('a', { kind: 'ipfix' }))).toBe(true);
    expect(othersOf(section('a', { kind: 'ipfix', hots: '' }))).toEqual(['hots']);
    expect([addressOf(syslog), transportOf(syslog)]).toEqual(['192.0.2.10', 'SYSLOG']);
  });

  it('of another kind falls back to the port that the router reports', () => {
    const syslog = section('log', { kind: 'syslog', host: '192.0.2.10' });
    const now = report('log', { kind: 'syslog', port: 514 });
    expect(addressOf(syslog, now)).toBe('192.0.2.10:514');
    expect(addressOf({ ...syslog, values: { ...syslog.values, port: '6514' } }, now)).toBe(
      '192.0.2.10:6514',
    );
    // The report is about another kind, with another default port.
    expect(addressOf(syslog, report('log'))).toBe('192.0.2.10');
    expect(addressOf(section('a', { host: '192.0.2.10' }), now)).toBe('192.0.2.10:4739');
  });

  it('is named by its option, section or position', () => {
    expect(nameOf(section('store', {}))).toBe('store');
    expect(nameOf(section('store', { name: 'Flow store' }))).toBe('Flow store');
    expect(nameOf(section('cfg12', {}, '@export[1]'))).toBe('@export[1]');
    const fresh = { section: 'new1', type: 'export', anonymous: true, values: {} };
    expect(nameOf(fresh)).toBe('');
    expect(freeName([])).toBe('collector');
    expect(freeName(['collector', 'collector-2'])).toBe('collector-3');
  });

  it('shows each state with its own sign', () => {
    expect(stateOf(undefined, false)).toBe('new');
    expect(stateOf(undefined, true)).toBe('unknown');
    const stalled = { code: 'stalled', params: {} } as const;
    expect(stateOf(report('a', { cause: stalled }), true)).toBe('stalled');
    expect(stateOf(report('a', { state: 'down', cause: stalled }), true)).toBe('down');
    for (const state of ['off', 'connecting', 'up', 'down', 'no-route'] as const)
      expect(stateOf(report('a', { state }), true)).toBe(state);
    const signs = Object.values(looks).map(([, sign]) => sign);
    expect(new Set(signs).size).toBe(signs.length);
  });
});

describe('in the draft', () => {
  let draft: Draft;
  let reported: Problem[] = [];
  const reports = [report('store'), report('@export[1]', { sent: 7 })];

  beforeEach(async () => {
    const configs = {
      fastpath: [
        section('store', { host: '192.0.2.10' }),
        section('cfg12', { host: '192.0.2.11' }, '@export[1]'),
        section('late', { host: '192.0.2.12' }),
        section('log', { kind: 'syslog', host: 'log.example', prot: '1' }),
      ],
    };
    const request = () => Promise.resolve({ configs });
    reported = [];
    draft = new Draft(new Router({ request } as never), () => reported);
    await draft.load(['fastpath']);
  });

  const of = (name: string) => {
    const found = draft.get('fastpath', name);
    if (!found) throw new Error(`no section ${name}`);
    return reportOf(reports, draft, found);
  };

  it('a section has the report of its name on the router', () => {
    expect(of('store')).toBe(reports[0]);
    expect(of('cfg12')?.sent).toBe(7);
    expect(of('late')).toBeUndefined();
    draft.set('fastpath', 'store', { name: 'renamed' });
    expect(of('store')).toBe(reports[0]);
    draft.remove('fastpath', 'store');
    expect(of('cfg12')?.sent).toBe(7);
    const added = draft.add('fastpath', 'export', { name: 'store' });
    expect(of(added)).toBeUndefined();
  });

  it('a section with any problem is refused', () => {
    const [store] = draft.all('fastpath', 'export');
    if (!store) throw new Error('no collector');
    expect(isRefused(draft, store)).toBe(false);
    const at = { config: 'fastpath', section: 'store', text: '' };
    for (const option of ['', 'port', 'domain']) {
      draft.problems = [{ ...at, option, code: 'missing' }];
      expect(isRefused(draft, store), option).toBe(true);
    }
    draft.problems = [{ ...at, option: 'hots', code: 'not-an-option' }];
    expect(isRefused(draft, store)).toBe(false);
    expect(isRefused(draft, { ...store, values: { ...store.values, hots: '1' } })).toBe(true);
  });

  it('a section without a form shows the problems that the router reports', () => {
    const log = draft.get('fastpath', 'log');
    const store = draft.get('fastpath', 'store');
    if (!log || !store) throw new Error('no collector');
    expect(problemsOf(draft, log)).toEqual([]);
    const at = { config: 'fastpath', section: 'log', text: 'in English', params: {} };
    reported = [
      { ...at, option: 'host', code: 'not-an-address', params: { value: 'log.example' } },
      { ...at, option: 'prot', code: 'not-an-option' },
      { ...at, option: '', code: 'newer' },
      { ...at, section: 'store', option: 'port', code: 'missing' },
    ];
    expect(problemsOf(draft, log)).toEqual([
      ['host', expect.stringContaining('“log.example”') as string],
      ['prot', 'This option does not belong to this section.'],
      ['', 'in English'],
    ]);
    expect(problemsOf(draft, store)).toEqual([]);
    // Problems of a check take precedence, with one per option.
    draft.problems = [{ ...at, option: 'prot', code: 'newer', text: 'checked' }];
    expect(problemsOf(draft, log)[0]).toEqual(['prot', 'checked']);
    expect(problemsOf(draft, log)).toHaveLength(3);
    draft.problems = [];
    draft.set('fastpath', 'store', { port: '1' });
    expect(problemsOf(draft, log)).toEqual([]);
  });
});
