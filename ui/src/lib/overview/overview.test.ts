// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EbpfExit } from '../api/types';
import { endOf, rowsOf, sharesOf, type Exit } from './exits';
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
  it('have a name and a unique sentence each', () => {
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

  it('are in order, and scaled to the most frequent verdict except forwarding', () => {
    const before = exits({ forwarded: 1000, unknown: 30, tcp: 40 });
    const rows = rowsOf(exits({ forwarded: 3000, unknown: 40, tcp: 10 }), before, 2);
    expect(rows.map(({ exit, pps, bar }) => [exit, pps, bar])).toEqual([
      ['forwarded', 1000, 0],
      ['unknown', 5, 1],
      ['tcp', 0, 0.25],
    ]);
    expect(rowsOf(exits({ ttl: 3 }))[0]?.pps).toBe(0);
  });
});

describe('hooks', () => {
  it('have a name for each hook', () => {
    for (const hook of listed('devices', 'hook')) {
      expect(hook === '' ? e('hook.') : e(hook as 'tcx')).toMatch(/\w/);
    }
  });
});
