// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../api/errors';
import type { EbpfDevice, EbpfExit, EbpfState, Health } from '../api/types';
import { Configuration } from '../uci/configuration';
import { endOf, rowsOf, sharesOf, type Exit } from './exits';
import { fits, HookChoice, wishes, wishName } from './hook.svelte';
import { e } from './words';

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

describe('ways out of the programs', () => {
  it('have a name and a sentence each', () => {
    const all = listed('exits', 'exit') as Exit[];
    expect(all.length).toBeGreaterThan(10);
    for (const exit of all) {
      expect(e(`exit.${exit}`)).toMatch(/^[A-Z][^.]+$/);
      expect(e(`exit.${exit}.why`)).toMatch(/^[A-Z].{15,}[^.]\.$/);
    }
    expect(new Set(all.map((exit) => e(`exit.${exit}.why`))).size).toBe(all.length);
  });

  it('lead out, to the stack or nowhere', () => {
    const ends = (listed('exits', 'exit') as Exit[]).filter((exit) => endOf(exit) !== 'stack');
    expect(ends).toEqual(['forwarded', 'dropped', 'no-room']);
    const shares = sharesOf({ seen: 10, exits: exits({ forwarded: 7, ttl: 2, 'no-room': 1 }) });
    expect(shares).toEqual({ sent: 0.7, stack: 0.2, lost: 0.1 });
    expect(sharesOf({ seen: 0, exits: exits({}) })).toEqual({ sent: 0, stack: 0, lost: 0 });
  });

  it('are shown when taken, in their order, beside the longest that does not forward', () => {
    const before = exits({ forwarded: 1000, unknown: 30, tcp: 40 });
    const rows = rowsOf(exits({ forwarded: 3000, unknown: 40, tcp: 10 }), before, 2);
    expect(rows.map(({ exit, pps, bar }) => [exit, pps, bar])).toEqual([
      ['forwarded', 1000, 0],
      ['unknown', 5, 1],
      // Loaded anew: it counts from nothing.
      ['tcp', 0, 0.25],
    ]);
    expect(rowsOf(exits({ ttl: 3 }))[0]?.pps).toBe(0);
  });
});

describe('hooks', () => {
  const at = (...hooks: EbpfDevice['hook'][]): EbpfDevice[] =>
    hooks.map((hook, i) => ({ device: `lan${i}`, hook, why: hook === '' ? 'too small' : '' }));

  it('have words for each that there is', () => {
    for (const hook of listed('devices', 'hook')) {
      expect(hook === '' ? e('hook.') : e(hook as 'tcx')).toMatch(/\w/);
    }
    for (const wish of wishes) {
      expect(wishName(wish)).toMatch(/^[A-Z]/);
      expect(e(`wish.${wish}.why`)).toMatch(/\.$/);
    }
    expect(e('wish.xdp-generic.why')).toContain('costs about a third more CPU');
  });

  it('fit a wish when each port that takes a program has it there', () => {
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
    let health: Health[];
    let denied: string;
    let choice: HookChoice;

    beforeEach(() => {
      vi.useFakeTimers();
      [calls, hook, denied] = [[], '', ''];
      [devices, health] = [at('tcx', 'tcx'), []];
      const request = (_: string, method: string, args: { values?: { hook: string } }) => {
        calls.push(method);
        if (method === denied) return Promise.reject(new Fault('denied', 'uci: no'));
        if (method === 'set') hook = args.values?.hook ?? '';
        const values = { engine: 'ebpf', hook };
        const main = { section: 'main', type: 'fastpath', anonymous: false, values };
        return Promise.resolve(method === 'get' ? { configs: { fastpath: [main] } } : {});
      };
      choice = new HookChoice(new Configuration({ request }), {
        ebpf: () => Promise.resolve({ devices } as EbpfState),
        health: () => health,
      });
    });

    async function choose(wish: (typeof wishes)[number]) {
      const done = choice.choose(wish).catch((fault: unknown) => fault);
      await vi.advanceTimersByTimeAsync(30_000);
      return done;
    }

    it('and confirmed when they are there', async () => {
      await choice.read();
      expect(choice.wished).toBe('auto');
      devices = at('xdp-generic', '');
      await choose('xdp-generic');
      expect(hook).toBe('xdp-generic');
      expect(calls.slice(1)).toEqual(['revert', 'get', 'set', 'changes', 'apply', 'confirm']);
      expect([choice.failed, choice.wished, choice.busy]).toEqual([false, 'xdp-generic', false]);
    });

    it('and taken back when no port takes them, with the first port’s words', async () => {
      devices = at('', '');
      await choose('clsact');
      expect(calls.slice(-2)).toEqual(['rollback', 'revert']);
      expect(choice.outcome).toContain('lan0: too small');
      expect([choice.failed, choice.wished]).toEqual([true, null]);
    });

    it('and taken back when nothing moves', async () => {
      await choose('xdp-generic');
      expect(calls).not.toContain('confirm');
      expect(choice.outcome).toContain('in time');
    });

    it('and not written where the configuration is refused already', async () => {
      health = [{ code: 'config-refused', level: 'error', text: 'section x' }];
      await choose('tcx');
      expect(calls).toEqual([]);
      expect(choice.outcome).toContain('section x');
    });

    it('and leave nothing staged behind who may not', async () => {
      denied = 'apply';
      expect(await choose('tcx')).toBeInstanceOf(Fault);
      expect(calls.at(-1)).toBe('revert');
      expect([choice.failed, choice.busy]).toEqual([true, false]);
      expect(choice.outcome).toContain('your account');
    });
  });
});
