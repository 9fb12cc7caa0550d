// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import doctorTexts from '../../../../feeds/fastpathd/src/crates/doctor/texts/en.json';
import { Fault } from '../api/errors';
import { setLanguage } from '../i18n/t';
import { Doctor, messageFor } from './doctor.svelte';
import words from './en.json';
import { countOf, groupsOf, verdictOf, type Finding, type Severity } from './report';

function finding(id: string, group: string, severity: Severity): Finding {
  const texts = { title: id, consequence: '', remedy: '' };
  return {
    id,
    group,
    code: id,
    params: {},
    severity,
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
  it('come with the worst first, and so do the findings of each', () => {
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

  it('leave out passed checks, and count them', () => {
    expect(groupsOf([finding('a', 'cpu', 'ok')])).toEqual([]);
    expect(countOf(found, 'ok')).toBe(1);
  });
});

describe('the verdict', () => {
  it('is the worst that asks for something', () => {
    expect(verdictOf(found)).toBe('error');
    expect(verdictOf([finding('a', 'cpu', 'info'), finding('b', 'cpu', 'advice')])).toBe('advice');
  });

  it('is good with notes and with checks that could not run', () => {
    expect(verdictOf([finding('a', 'cpu', 'info'), finding('b', 'cpu', 'unknown')])).toBe('ok');
  });
});

/** A router that answers, or throws, one thing after the other. */
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

  it('keeps its report when the router is unreachable, and says so', async () => {
    const doctor = new Doctor(router(report, new Fault('unreachable', 'no answer')));
    await doctor.run();
    await expect(doctor.run()).rejects.toThrow('no answer');
    expect(doctor.report).not.toBeNull();
    expect(doctor.trouble).toMatch(/^No response from the router/);
  });

  it('takes a refusal in an answer for one', async () => {
    const error = { code: 'method', text: 'unknown method' };
    const doctor = new Doctor(router({ error }));
    await expect(doctor.run()).rejects.toThrow('unknown method');
    expect(doctor.report).toBeNull();
    expect(doctor.trouble).toBe('The checks failed to run: unknown method');
  });

  it('fixes a finding by its name', async () => {
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

  it('has a text for a router without a doctor', () => {
    expect(messageFor(new Fault('absent', ''))).toMatch(/is unavailable/);
    expect(() => messageFor(new TypeError('a defect'))).toThrow('a defect');
  });
});

it('has a name for each group of the doctor', () => {
  const groups = Object.keys(doctorTexts).filter((group) => group !== 'general');
  const named = Object.keys(words).flatMap((key) => /^group\.(.+)$/.exec(key)?.[1] ?? []);
  expect(named.sort()).toEqual(groups.sort());
});

it('asks for one host, and reports which device limits the path', async () => {
  const way = { target: '203.0.113.1', mtu: 1400, limit: 'silent', black_hole: true };
  const asked = router(way);
  expect(await new Doctor(asked).pmtu('203.0.113.1')).toEqual(way);
  expect(asked.calls).toEqual([['fastpath.doctor', 'pmtu', { target: '203.0.113.1' }]]);
});
