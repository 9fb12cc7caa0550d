// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import doctorTexts from '../../../../feeds/fastpathd/src/crates/doctor/texts/en.json';
import { Fault } from '../api/errors';
import { setLanguage } from '../i18n/t';
import { Doctor, messageFor } from './doctor.svelte';
import words from './en.json';
import {
  acceptanceOf,
  countOf,
  groupsOf,
  verdictOf,
  withdrawalOf,
  type Finding,
  type Severity,
} from './report';
import { entriesOf, type Conditions } from './verdict';

function finding(id: string, group: string, severity: Severity, accepted: string[] = []): Finding {
  const texts = { title: id, consequence: '', remedy: '' };
  return {
    id,
    group,
    code: id,
    params: {},
    severity,
    about: [],
    accepted,
    ...texts,
    evidence: [],
    gain: null,
    fix: null,
  };
}

const found = [
  finding('gro-off', 'offload', 'advice'),
  finding('stp', 'bridge', 'info'),
  finding('per-vlan', 'bridge', 'warning'),
  finding('flowtable-missing', 'flowtable', 'error'),
  finding('stale', 'flowtable', 'ok'),
  finding('rings', 'offload', 'unknown'),
];

describe('groups', () => {
  it('are sorted worst first, and so are their findings', () => {
    const groups = groupsOf(found).map(({ name, findings }) => [
      name,
      ...findings.map((each) => each.id),
    ]);
    expect(groups).toEqual([
      ['flowtable', 'flowtable-missing'],
      ['bridge', 'per-vlan', 'stp'],
      ['offload', 'gro-off', 'rings'],
    ]);
  });

  it('omit passed checks', () => {
    expect(groupsOf([finding('a', 'cpu', 'ok')])).toEqual([]);
    expect(countOf(found, 'ok')).toBe(1);
  });
});

describe('the verdict', () => {
  it('is the worst severity that needs action', () => {
    expect(verdictOf(found)).toBe('error');
    expect(verdictOf([finding('a', 'cpu', 'info'), finding('b', 'cpu', 'advice')])).toBe('advice');
  });

  it('is good despite notes and checks that could not run', () => {
    expect(verdictOf([finding('a', 'cpu', 'info'), finding('b', 'cpu', 'unknown')])).toBe('ok');
  });
});

describe('accepted findings', () => {
  const known = finding('lro-on', 'offload', 'warning', ['cfg01', 'cfg02']);

  it('are excluded from groups, counts and the verdict', () => {
    expect(groupsOf([known])).toEqual([]);
    expect(countOf([known], 'warning')).toBe(0);
    expect(verdictOf([known])).toBe('ok');
  });

  it('are recorded by code, severity and objects', () => {
    const about = ['lan1: rx-lro'];
    expect(acceptanceOf({ ...finding('lro-on', 'offload', 'warning'), about })).toMatchObject([
      { op: 'add', type: 'accepted', values: { check: 'lro-on', severity: 'warning', about } },
    ]);
    const [edit] = acceptanceOf(finding('system-root', 'system', 'advice'));
    expect(edit).toHaveProperty('values', { check: 'system-root', severity: 'advice' });
  });

  it('are withdrawn by deleting all their sections', () => {
    expect(withdrawalOf(known)).toEqual([
      { config: 'fastpath', op: 'delete', section: 'cfg01' },
      { config: 'fastpath', op: 'delete', section: 'cfg02' },
    ]);
  });
});

describe('the list of conditions and findings', () => {
  const condition = (code: string, level: string) => ({
    ...{ code, level, params: { count: 900, limit: 1000, name: 'wan' }, text: code },
  });
  const status = (...health: object[]) =>
    ({ health, problems: [], doctor: { last: { ended: ['ips-away'] } } }) as unknown as Conditions;
  const ids = (...of: Parameters<typeof entriesOf>) =>
    entriesOf(...of).map(({ id, severity }) => `${severity} ${id}`);

  it('is sorted worst first', () => {
    expect(ids(found, status(condition('wan-down', 'error')))).toEqual([
      ...['error wan-down', 'error flowtable-missing', 'warning per-vlan', 'advice gro-off'],
      'info stp',
    ]);
    expect(ids([], null)).toEqual([]);
  });

  it('has a condition that is also a finding once, unless it is accepted', () => {
    const open = condition('system-wan-open', 'error');
    const finds = (accepted: string[]) => [finding('system-wan-open', 'system', 'error', accepted)];
    expect(ids(finds([]), status(open))).toEqual(['error system-wan-open']);
    expect(verdictOf(entriesOf(finds(['cfg01']), status(open)))).toBe('ok');
  });

  it('prefers a condition to an older finding', () => {
    const before = [{ ...finding('conntrack-full', 'conntrack', 'warning'), title: 'before' }];
    const [entry] = entriesOf(before, status(condition('conntrack-full', 'warning')));
    expect(entry?.title).toBe('Conntrack is nearly full: 900 of 1000.');
  });

  it('omits findings that the daemon reports as ended', () => {
    const before = ['ips-away', 'system-wan-open'].map((id) => finding(id, 'ips', 'error'));
    expect(ids(before, status())).toEqual(['error system-wan-open']);
    expect(ids(before, null)).toEqual(['error ips-away', 'error system-wan-open']);
  });

  it('has a condition that the last run did not find', () => {
    const passed = [finding('conntrack-full', 'conntrack', 'ok')];
    const full = status(condition('conntrack-full', 'warning'));
    expect(ids(passed, full)).toEqual(['warning conntrack-full']);
  });
});

/** A router that gives these answers, or throws these faults, in turn. */
function router(...answers: (object | Fault)[]) {
  const calls: unknown[] = [];
  const request = (...call: unknown[]) => {
    calls.push(call.slice(0, 3));
    const answer = answers.shift() ?? {};
    const refused = answer instanceof Fault;
    return refused ? Promise.reject(answer) : Promise.resolve(answer as Record<string, unknown>);
  };
  return { calls, request };
}

describe('Doctor', () => {
  const report = { at_ms: 1, took_ms: 2, findings: found };

  it('keeps the report of all checks', async () => {
    const asked = router(report);
    const doctor = new Doctor(asked);
    await doctor.run();
    expect(asked.calls).toEqual([['fastpath.doctor', 'run', {}]]);
    expect(doctor.report?.findings).toHaveLength(found.length);
    expect(doctor.busy).toBe(false);
  });

  it('keeps its report and reports a fault if the router is unreachable', async () => {
    const doctor = new Doctor(router(report, new Fault('unreachable', 'no answer')));
    await doctor.run();
    await expect(doctor.run()).rejects.toThrow('no answer');
    expect(doctor.report).not.toBeNull();
    expect(doctor.trouble).toMatch(/^No response from the router/);
  });

  it('recognises a refusal in an answer', async () => {
    const error = { code: 'method', text: 'unknown method' };
    const doctor = new Doctor(router({ error }));
    await expect(doctor.run()).rejects.toThrow('unknown method');
    expect(doctor.report).toBeNull();
    expect(doctor.trouble).toBe('The checks failed to run: unknown method');
  });

  it('reads the last report without running a check', async () => {
    const asked = router(report);
    const doctor = new Doctor(asked);
    await doctor.load();
    expect(asked.calls).toEqual([['fastpath.doctor', 'last', {}]]);
    expect(doctor.report?.findings).toHaveLength(found.length);
  });

  it('has no report before the first run and keeps the last one', async () => {
    const none = { error: { code: 'none', text: 'no report' } };
    const doctor = new Doctor(router(none, report, none));
    await doctor.load();
    expect(doctor.report).toBeNull();
    await doctor.run();
    await doctor.load();
    expect(doctor.report).not.toBeNull();
    const failed = new Doctor(router({ error: { code: 'failed', text: 'x' } }));
    await expect(failed.load()).rejects.toThrow('x');
  });

  it('fixes a finding by its id', async () => {
    const asked = router({ done: true, said: 'GRO is on' });
    const said = await new Doctor(asked).fix(finding('gro-off', 'offload', 'advice'));
    expect(said).toBe('GRO is on');
    expect(asked.calls).toEqual([['fastpath.doctor', 'fix', { id: 'gro-off' }]]);
  });

  it('names the steps of a fix in the language of the page', async () => {
    await setLanguage('de');
    const params = { feature: 'rx-gro', device: 'lan1' };
    const steps = [
      { code: 'write', params: { text: '1', path: '/proc/x' } },
      { code: 'feature-on', params },
    ];
    const said = 'writing 1 to /proc/x\nturning rx-gro of lan1 on';
    const doctor = new Doctor(router({ done: true, said, steps }));
    const shown = await doctor.fix(finding('gro-off', 'offload', 'advice'));
    await setLanguage('en');
    expect(shown).toBe('1 nach /proc/x schreiben\nrx-gro von lan1 einschalten');
  });

  it('refuses in the language of the page', async () => {
    await setLanguage('de');
    const gro = finding('gro-off', 'offload', 'advice');
    const refused = async (code: string, cause: string, params = {}) => {
      const error = { code, text: 'English', cause: { code: cause, params } };
      const doctor = new Doctor(router({ error }));
      return messageFor(await doctor.fix(gro).catch((fault: unknown) => fault));
    };
    const texts = [
      await refused('busy', 'doctor-busy'),
      await refused('nothing', 'nothing', { check: 'gro-off' }),
      await refused('no-fix', 'no-fix', { check: 'gro-off' }),
      await refused('failed', 'doctor-ended'),
    ];
    await setLanguage('en');
    expect(texts).toEqual([
      'Der Doctor bearbeitet gerade andere Anfragen. In einigen Sekunden erneut versuchen.',
      'Die Prüfung meldet kein Problem mehr.',
      'Es gibt keine automatische Behebung; siehe Abhilfe.',
      'Die Prüfungen sind fehlgeschlagen: der Doctor endete vorzeitig; siehe Protokoll',
    ]);
  });

  it('has an error message for a router without a doctor', () => {
    expect(messageFor(new Fault('absent', ''))).toMatch(/is unavailable/);
    expect(() => messageFor(new TypeError('a defect'))).toThrow('a defect');
  });
});

it('has a name for each group of the doctor', () => {
  const groups = Object.keys(doctorTexts).filter((group) => group !== 'general');
  const named = Object.keys(words).flatMap((key) => /^group\.(.+)$/.exec(key)?.[1] ?? []);
  expect(named.sort()).toEqual(groups.sort());
});

it('tests one host and reports which device limits the path', async () => {
  const way = { target: '203.0.113.1', mtu: 1400, limit: 'silent', black_hole: true };
  const asked = router(way);
  expect(await new Doctor(asked).pmtu('203.0.113.1')).toEqual(way);
  expect(asked.calls).toEqual([['fastpath.doctor', 'pmtu', { target: '203.0.113.1' }]]);
});
