// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import doctorWords from '../../../../feeds/fastpathd/src/crates/doctor/words/en.json';
import { Fault } from '../api/errors';
import { Doctor, wordsFor } from './doctor.svelte';
import words from './en.json';
import { countOf, groupsOf, verdictOf, type Finding, type Severity } from './report';

function finding(id: string, group: string, severity: Severity): Finding {
  const words = { title: id, consequence: '', remedy: '' };
  return { id, group, severity, ...words, evidence: [], gain: null, fix: null };
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

  it('leave out what is in order, and count it', () => {
    expect(groupsOf([finding('a', 'cpu', 'ok')])).toEqual([]);
    expect(countOf(found, 'ok')).toBe(1);
  });
});

describe('the verdict', () => {
  it('is the worst that asks for something', () => {
    expect(verdictOf(found)).toBe('error');
    expect(verdictOf([finding('a', 'cpu', 'info'), finding('b', 'cpu', 'advice')])).toBe('advice');
  });

  it('is good with notes and with what could not be looked at', () => {
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

  it('asks in the language of the page', async () => {
    const asked = router(report);
    const doctor = new Doctor(asked, 'de');
    await doctor.run();
    expect(asked.calls).toEqual([['fastpath.doctor', 'run', { lang: 'de' }]]);
    expect(doctor.report?.findings).toHaveLength(found.length);
    expect(doctor.busy).toBe(false);
  });

  it('keeps what it knew when the router is away, and says so', async () => {
    const doctor = new Doctor(router(report, new Fault('unreachable', 'no answer')), 'en');
    await doctor.run();
    await expect(doctor.run()).rejects.toThrow('no answer');
    expect(doctor.report).not.toBeNull();
    expect(doctor.trouble).toMatch(/^No response from the router/);
  });

  it('takes a refusal in an answer for one', async () => {
    const error = { code: 'busy', text: 'another run is under way' };
    const doctor = new Doctor(router({ error }), 'en');
    await expect(doctor.run()).rejects.toThrow('another run');
    expect(doctor.report).toBeNull();
    expect(doctor.trouble).toBe('The checks failed to run: another run is under way');
  });

  it('fixes a finding by its name', async () => {
    const asked = router({ done: true, said: 'GRO is on' });
    const said = await new Doctor(asked, 'en').fix(finding('gro-off', 'offload', 'advice'));
    expect(said).toBe('GRO is on');
    expect(asked.calls).toEqual([['fastpath.doctor', 'fix', { id: 'gro-off', lang: 'en' }]]);
  });

  it('has words for a router without a doctor', () => {
    expect(wordsFor(new Fault('absent', ''))).toMatch(/is unavailable/);
    expect(() => wordsFor(new TypeError('a defect'))).toThrow('a defect');
  });
});

it('has a name for each group that the doctor has words for', () => {
  const told = Object.keys(doctorWords).filter((group) => group !== 'general');
  const named = Object.keys(words).flatMap((key) => /^group\.(.+)$/.exec(key)?.[1] ?? []);
  expect(named.sort()).toEqual(told.sort());
});

it('asks for one host, and tells by whom the way is bounded', async () => {
  const way = { target: '203.0.113.1', mtu: 1400, limit: 'silent', black_hole: true };
  const asked = router(way);
  expect(await new Doctor(asked, 'en').pmtu('203.0.113.1')).toEqual(way);
  expect(asked.calls).toEqual([['fastpath.doctor', 'pmtu', { target: '203.0.113.1' }]]);
});
