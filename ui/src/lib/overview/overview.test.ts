// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../api/errors';
import type { EbpfDevice, EbpfExit, EbpfState } from '../api/types';
import { Change } from '../form/change.svelte';
import { endOf, rowsOf, sharesOf, type Exit } from './exits';
import { fits, HookChoice, hookName, hookSettings } from './hook.svelte';
import { e } from './messages';

interface EbpfSchema {
  properties: {
    reply: {
      properties: Record<string, { items: { properties: Record<string, { enum: string[] }> } }>;
    };
  };
}
const file = new URL('../../../../feeds/fastpathd/src/schema/ebpf.json', import.meta.url);
const { properties } = JSON.parse(readFileSync(file, 'utf8')) as EbpfSchema;
const listed = (list: string, property: string) =>
  properties.reply.properties[list]?.items.properties[property]?.enum ?? [];

const exits = (packets: Partial<Record<Exit, number>>): EbpfExit[] =>
  (listed('exits', 'exit') as Exit[]).map((exit) => ({ exit, packets: packets[exit] ?? 0 }));

describe('packet verdicts of the programs', () => {
  it('have a name and a distinct sentence each', () => {
    const all = listed('exits', 'exit') as Exit[];
    expect(all.length).toBeGreaterThan(10);
    for (const exit of all) {
      expect(e(`exit.${exit}`)).toMatch(/^[A-Z][^.]+$/);
      expect(e(`exit.${exit}.why`)).toMatch(/^[A-Z].{15,}[^.]\.$/);
    }
    expect(new Set(all.map((exit) => e(`exit.${exit}.why`))).size).toBe(all.length);
  });

  it('are sent, stack or lost', () => {
    const ends = (listed('exits', 'exit') as Exit[]).filter((exit) => endOf(exit) !== 'stack');
    expect(ends).toEqual(['forwarded', 'dropped', 'no-room']);
    const shares = sharesOf({ seen: 10, exits: exits({ forwarded: 7, ttl: 2, 'no-room': 1 }) });
    expect(shares).toEqual({ sent: 0.7, stack: 0.2, lost: 0.1 });
    expect(sharesOf({ seen: 0, exits: exits({}) })).toEqual({ sent: 0, stack: 0, lost: 0 });
  });

  it('are shown in order and scaled to the most frequent verdict but forwarding', () => {
    const before = exits({ forwarded: 1000, unknown: 30, tcp: 40 });
    const rows = rowsOf(exits({ forwarded: 3000, unknown: 40, tcp: 10 }), before, 2);
    expect(rows.map(({ exit, pps, bar }) => [exit, pps, bar])).toEqual([
      ['forwarded', 1000, 0],
      ['unknown', 5, 1],
      // Counts from zero after a reload.
      ['tcp', 0, 0.25],
    ]);
    expect(rowsOf(exits({ ttl: 3 }))[0]?.pps).toBe(0);
  });
});

describe('hooks', () => {
  const at = (...hooks: EbpfDevice['hook'][]): EbpfDevice[] =>
    hooks.map((hook, i) => {
      const cause: EbpfDevice['cause'] = { code: '', params: {} };
      return { device: `lan${i}`, hook, why: hook === '' ? 'too small' : '', cause };
    });

  it('have a name for each hook', () => {
    for (const hook of listed('devices', 'hook')) {
      expect(hook === '' ? e('hook.') : e(hook as 'tcx')).toMatch(/\w/);
    }
    for (const setting of hookSettings) {
      expect(hookName(setting)).toMatch(/^[A-Z]/);
      expect(e(`choice.${setting}.why`)).toMatch(/\.$/);
    }
    expect(e('choice.xdp-generic.why')).toContain('costs about a third more CPU');
  });

  it('fit a setting if all loaded programs are there', () => {
    expect(fits(at('tcx', ''), 'tcx')).toBe(true);
    expect(fits(at('tcx', 'clsact'), 'auto')).toBe(true);
    expect(fits(at('xdp', 'xdp'), 'auto')).toBe(true);
    expect(fits(at('xdp-generic'), 'auto')).toBe(false);
    expect(fits(at('tcx', 'xdp-generic'), 'tcx')).toBe(false);
    expect(fits(at('', ''), 'tcx')).toBe(false);
    expect(fits([], 'auto')).toBe(false);
  });

  describe('are chosen', () => {
    let calls: string[];
    let hook: string;
    let devices: EbpfDevice[];
    let problems: object[];
    let state: '' | 'confirmed' | 'reverted';
    let denied: string;
    let change: Change;
    let choice: HookChoice;
    let reported: unknown[];

    beforeEach(() => {
      vi.useFakeTimers();
      [calls, hook, denied, state, problems, reported] = [[], '', '', '', [], []];
      devices = at('tcx', 'tcx');
      const request = (_: string, method: string, args: { edits?: { values: object }[] }) => {
        if (method !== 'pending' && method !== 'list') calls.push(method);
        if (method === denied) return Promise.reject(new Fault('denied', 'no'));
        return Promise.resolve(answers[method]?.(args) ?? {});
      };
      const answers: Record<string, (args: { edits?: { values: object }[] }) => object> = {
        get: () => {
          const main = { section: 'main', type: 'fastpath', values: { engine: 'ebpf', hook } };
          return { configs: { fastpath: [main] } };
        },
        apply: ({ edits = [] }) => {
          hook = (edits[0]?.values as { hook: string }).hook;
          return { id: 7, seconds: 60 };
        },
        confirm: () => ({ id: 7, state: (state = 'confirmed') }),
        revert: () => ({ id: 7, state: (state = 'reverted') }),
        pending: () => ({
          pending:
            state || !hook
              ? null
              : { id: 7, left_s: 60, in_force: problems.length === 0, problems },
          last: state ? { id: 7, state } : null,
        }),
        list: () => ({ changes: state ? [{ id: 7, state }] : [] }),
      };
      const storage = new Map<string, string>();
      change = new Change(
        { request } as unknown as ConstructorParameters<typeof Change>[0],
        {
          getItem: (key) => storage.get(key) ?? null,
          setItem: (key, value) => void storage.set(key, value),
          removeItem: (key) => void storage.delete(key),
        },
        'router',
      );
      const live = { report: (fault: unknown) => reported.push(fault) };
      choice = new HookChoice(change, live, () => Promise.resolve({ devices } as EbpfState));
    });

    async function choose(setting: (typeof hookSettings)[number]) {
      const done = choice.choose(setting);
      await vi.advanceTimersByTimeAsync(1);
      // The strip above every screen follows the change.
      const following = change.follow(new AbortController().signal);
      await vi.advanceTimersByTimeAsync(30_000);
      await following;
      await done;
    }

    it('and confirmed when programs are attached', async () => {
      await choice.read();
      expect(choice.configured).toBe('auto');
      devices = at('xdp-generic', '');
      await choose('xdp-generic');
      expect(hook).toBe('xdp-generic');
      expect(calls.slice(1)).toEqual(['get', 'apply', 'confirm']);
      expect([choice.failed, choice.configured, choice.busy]).toEqual([
        false,
        'xdp-generic',
        false,
      ]);
    });

    it('and rolled back with the first port’s message when no port accepts them', async () => {
      devices = at('', '');
      await choose('clsact');
      expect(calls.slice(-2)).toEqual(['apply', 'revert']);
      expect(choice.outcome).toContain('lan0: too small');
      expect([choice.failed, choice.configured]).toEqual([true, null]);
    });

    it('and rolled back when nothing is attached', async () => {
      await choose('xdp-generic');
      expect(calls).not.toContain('confirm');
      expect(choice.outcome).toContain('in time');
    });

    it('and rolled back when the daemon refuses the configuration', async () => {
      problems = [{ config: 'fastpath', section: 'x', option: '', code: '', text: 'section x' }];
      await choose('tcx');
      expect(calls).toEqual(['get', 'apply', 'revert']);
      expect(choice.outcome).toContain('section x');
    });

    it('and refused without the right to change them', async () => {
      denied = 'apply';
      await choose('tcx');
      expect(reported.at(-1)).toBeInstanceOf(Fault);
      expect([choice.failed, choice.busy]).toEqual([true, false]);
      expect(choice.outcome).toContain('your account');
    });
  });
});
