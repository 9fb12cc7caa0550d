// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { CpuPlan, IpsState } from '../api/types';
import { t } from '../i18n/t';
import type { Sample } from '../live/ring';
import { cpusOf } from './cpus';
import en from './en.json';
import { anIps, someBlocks } from './examples';
import { BlockList, ipsReport } from './ips.svelte';
import { byInspection, shareInspected } from './shares';
import { daysOf, levelOf, OLD_DAYS, shownOf, signOf, type ShownState } from './state';
import { filterOf, readView, unfiltered, writeView } from './view';
import { w } from './messages';

const types = new URL('../../../../feeds/fastpathd/src/schema/types.json', import.meta.url);
const schema = JSON.parse(readFileSync(types, 'utf8')) as {
  $defs: Record<string, { enum: string[] }>;
};
const states = (schema.$defs['IpsState']?.enum ?? []) as IpsState[];

describe('every state', () => {
  it('has a distinct name, sign and sentence', () => {
    expect(states).toHaveLength(8);
    for (const state of states) {
      expect(t(`ips.${state}`)).toMatch(/\w/);
      expect(w(`state.${state}.why`)).toMatch(/^[A-Z].{30,}\.$/);
    }
    expect(new Set(states.map((state) => t(`ips.${state}`))).size).toBe(8);
    expect(new Set(states.map(signOf)).size).toBe(8);
    expect(new Set(states.map((state) => w(`state.${state}.why`))).size).toBe(8);
  });

  it('is good only with a recently fetched rule set', () => {
    const now = Date.parse('2026-11-22T12:00:00Z');
    const made = (days: number) => now - days * 86_400_000;
    const shown = (state: IpsState, rules_ms: number) => shownOf({ state, rules_ms }, now);
    expect(shown('inline', 0)).toBe('inline-builtin');
    expect(shown('inline', made(0))).toBe('inline');
    expect(shown('inline', made(OLD_DAYS))).toBe('inline');
    expect(shown('inline', made(OLD_DAYS + 1))).toBe('inline-old');
    expect(daysOf(made(OLD_DAYS + 1), now)).toBe(OLD_DAYS + 1);
    // Other states are worse than outdated rules, and do not change.
    for (const state of states.filter((each) => each !== 'inline')) {
      expect(shown(state, 0)).toBe(state);
      expect(shown(state, made(400))).toBe(state);
    }
    const good = (['inline', 'inline-builtin', 'inline-old', ...states] as ShownState[]).filter(
      (each) => levelOf(each) === 'ok',
    );
    expect(new Set(good)).toEqual(new Set(['inline']));
    for (const state of ['inline-builtin', 'inline-old'] as const) {
      expect(levelOf(state)).toBe('warning');
      expect(t(`ips.${state}`)).not.toContain('Protecting');
    }
  });

  it('has the doctor’s limit for the age of rules', () => {
    const file = new URL(
      '../../../../feeds/fastpathd/src/crates/doctor/src/checks/ips.rs',
      import.meta.url,
    );
    const [, days] = /const OLD_DAYS: u64 = (\d+);/.exec(readFileSync(file, 'utf8')) ?? [];
    expect(Number(days)).toBe(OLD_DAYS);
  });

  it('is an error if packets pass uninspected or are dropped', () => {
    const bad = states.filter((state) => levelOf(state) === 'error');
    expect(bad).toEqual(['failing-open', 'failing-closed', 'rules-rejected']);
    expect(levelOf('inline')).toBe('ok');
    expect(levelOf('inline-degraded')).toBe('warning');
  });
});

it('has no empty message', () => {
  for (const [key, message] of Object.entries(en)) {
    const forms = typeof message === 'string' ? [message] : Object.values(message);
    for (const form of forms) expect(form, key).not.toBe('');
  }
});

describe('the address', () => {
  const full =
    'part=policy&text=root&action=blocked&severity=2&address=10.0.0.1&sid=7&flow=9&alert=4';

  it('is read and written without loss', () => {
    expect(writeView(readView(new URLSearchParams(full))).toString()).toBe(full);
    expect(writeView(readView(new URLSearchParams(''))).toString()).toBe('');
  });

  it('replaces invalid values with defaults', () => {
    const view = readView(
      new URLSearchParams(`part=x&action=%3Cb%3E&severity=-4&flow=NaN&text=${'a'.repeat(999)}`),
    );
    expect(view).toMatchObject({ part: 'now', action: '', severity: 0, flow: 0 });
    expect(view.text).toHaveLength(128);
  });

  it('is converted to the daemon’s filter', () => {
    const view = readView(new URLSearchParams(full));
    expect(filterOf(view)).toEqual({
      text: 'root',
      action: 'blocked',
      severity: 2,
      address: '10.0.0.1',
      sid: 7,
      flow: 9,
    });
    expect(filterOf({ ...view, ...unfiltered })).toEqual({});
  });
});

describe('shares', () => {
  const sample: Sample = {
    at_ms: 1,
    bps: { slow: 10, inspect: 20, flowtable: 30, hardware: 25, ebpf: 15 },
  };

  it('merge all offloaded paths', () => {
    expect(byInspection([sample])[0]?.bps).toEqual({
      slow: 10,
      inspect: 20,
      flowtable: 70,
      hardware: 0,
      ebpf: 0,
    });
  });

  it('include the inspected share', () => {
    expect(shareInspected([sample])).toBe(0.2);
    expect(shareInspected([])).toBeNull();
  });
});

it('writes CPUs of a role in the kernel’s notation', () => {
  const cpus = [0, 1, 2, 4, 7].map((cpu) => ({ cpu, role: cpu < 7 ? 'inspection' : 'control' }));
  const plan = { cpus } as unknown as CpuPlan;
  expect(cpusOf(plan, 'inspection')).toBe('0-2,4');
  expect(cpusOf(plan, 'control')).toBe('7');
  expect(cpusOf(plan, 'shared')).toBe('');
});

function answering(answers: Record<string, unknown>): { api: Fastpath; calls: string[] } {
  const calls: string[] = [];
  const call = (method: string, args: object) => {
    calls.push(`${method} ${JSON.stringify(args)}`);
    const answer = answers[method];
    return answer instanceof Fault ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { api: { call } as unknown as Fastpath, calls };
}

describe('blocks', () => {
  it('disappear from the list when they are released', async () => {
    const { api, calls } = answering({ blocks: someBlocks(), block_release: {} });
    const list = new BlockList(api);
    await list.ask();
    expect(await list.release('203.0.113.1')).toBe(true);
    expect(calls).toContain('block_release {"address":"203.0.113.1"}');
    expect(list.answer?.blocks.map((block) => block.address)).toEqual(['2001:db8:ffff::1']);
  });

  it('disappear if they have already ended', async () => {
    const gone = new Fault('gone', 'fastpath block_release: Not found');
    const list = new BlockList(answering({ blocks: someBlocks(), block_release: gone }).api);
    await list.ask();
    expect(await list.release('203.0.113.1')).toBe(false);
    expect(list.answer?.blocks).toHaveLength(1);
  });

  it('stay if the router refuses the release', async () => {
    const denied = new Fault('denied', 'fastpath block_release: Access denied');
    const list = new BlockList(answering({ blocks: someBlocks(), block_release: denied }).api);
    await list.ask();
    await expect(list.release('203.0.113.1')).rejects.toThrow('Access denied');
    expect(list.answer?.blocks).toHaveLength(2);
  });
});

describe('the report', () => {
  it('keeps its data and shows the reason when the daemon refuses', async () => {
    const answers: Record<string, unknown> = { ips: anIps() };
    const report = ipsReport(answering(answers).api);
    const { signal } = new AbortController();
    await report.ask(signal);
    answers['ips'] = new Fault('failed', 'fastpath ips: Unknown error');
    await expect(report.ask(signal)).rejects.toThrow();
    expect(report.answer?.state).toBe('inline');
    expect(report.trouble).toContain('Unknown error');
    answers['ips'] = anIps({ state: 'failing-open' });
    await report.ask(signal);
    expect(report).toMatchObject({ trouble: '', answer: { state: 'failing-open' } });
  });
});
