// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import type { Fastpath } from '../api/fastpath';
import {
  continued,
  gapsOf,
  journaling,
  QUARTER_MS,
  recorded,
  recording,
  runsOf,
  slotsOf,
} from './past';

const cols = ['at_ms', 'recorded_s', 'up_bytes', 'down_bytes', 'slow_bytes', 'flowtable_bytes'];
const now_ms = 1_796_000_000_000;
const last = Math.floor(now_ms / QUARTER_MS) * QUARTER_MS;
const rows = [
  [last - 4 * QUARTER_MS, 900, 9, 9, 9, 9],
  [last - 3 * QUARTER_MS, 900, 1, 2, 900, 1800],
  [last - QUARTER_MS, 450, 3, 4, 900, 0],
  [last, 0, 0, 0, 0, 0],
];
const span = { step_ms: QUARTER_MS, length: 4, now_ms };

describe('recording', () => {
  it('asks again only for the last known period and later ones', async () => {
    const periods = [
      [100, 1],
      [200, 2],
    ];
    const asked: unknown[] = [];
    const call = (_: string, args: { from_ms: number }) => {
      asked.push(args);
      const rows = periods.filter(([at = 0]) => at >= args.from_ms);
      return Promise.resolve({
        cols: ['at_ms', 'up_bytes'],
        rows,
        storage: { size: asked.length },
      });
    };
    const read = recording({ call } as unknown as Fastpath, { step: 'day' });
    expect((await read(50)).rows).toEqual([
      [100, 1],
      [200, 2],
    ]);
    periods.splice(0, 2, [100, 9], [200, 5], [300, 1]);
    expect(await read(60)).toEqual({
      cols: ['at_ms', 'up_bytes'],
      rows: [
        [100, 1],
        [200, 5],
        [300, 1],
      ],
      storage: { size: 2 },
    });
    periods.splice(0);
    expect((await read(70)).rows).toEqual([
      [100, 1],
      [200, 5],
    ]);
    await read(80);
    const step = 'day';
    expect(asked).toEqual([50, 200, 300, 200].map((from_ms) => ({ step, from_ms })));
  });
});

describe('journaling', () => {
  it('asks for all events once, then for later ones', async () => {
    let ids = [1, 2];
    let last_id = 2;
    const asked: unknown[] = [];
    const call = (_: string, { after, limit }: { after?: number; limit: number }) => {
      asked.push(after);
      const wanted = after === undefined ? ids.toReversed() : ids.filter((id) => id > after);
      return Promise.resolve({ events: wanted.slice(0, limit).map((id) => ({ id })), last_id });
    };
    const read = journaling({ call } as unknown as Fastpath);
    const known = async () => (await read()).map(({ id }) => id);
    expect(await known()).toEqual([2, 1]);
    [ids, last_id] = [[1, 2, 3, 4], 4];
    expect(await known()).toEqual([4, 3, 2, 1]);
    // The daemon has restarted and not read its files.
    [ids, last_id] = [[], 0];
    expect(await known()).toEqual([4, 3, 2, 1]);
    // More events than an answer has, and a deleted history.
    ids = Array.from({ length: 600 }, (_, i) => i + 5);
    last_id = 604;
    expect((await known()).slice(0, 2)).toEqual([604, 603]);
    [ids, last_id] = [[7], 7];
    expect(await known()).toEqual([7]);
    expect(asked).toEqual([undefined, 2, 4, 4, undefined, 604, undefined]);
  });
});

describe('slots', () => {
  it('are local days, also when clocks change', () => {
    const days = (times: string[], now: string) => {
      const days = times.map((text) => [Date.parse(text), 1]);
      const cols = ['at_ms', 'up_bytes'];
      const span = { step_ms: 86_400_000, length: 4, now_ms: Date.parse(now) };
      return slotsOf({ cols, rows: days }, ['up_bytes'], span).map(({ values }) => values?.[0]);
    };
    const london = ['2026-03-28T00:00Z', '2026-03-29T00:00Z', '2026-03-29T23:00Z'];
    expect(days(london, '2026-03-30T12:00Z')).toEqual([undefined, 1, 1, 1]);
    expect(days(london, '2026-03-30T23:30Z')).toEqual([1, 1, 1, undefined]);
    const autumn = ['2026-10-24T23:00Z', '2026-10-26T00:00Z', '2026-10-27T00:00Z'];
    expect(days(autumn, '2026-10-27T12:00Z')).toEqual([undefined, 1, 1, 1]);
    const sydney = ['2026-10-02T14:00Z', '2026-10-03T14:00Z', '2026-10-04T13:00Z'];
    expect(days(sydney, '2026-10-05T12:59Z')).toEqual([undefined, 1, 1, 1]);
    expect(days(['2026-11-28T23:00Z'], '2026-11-30T22:00Z')).toEqual([
      ...[undefined, undefined, 1, undefined],
    ]);
  });

  it('are without a value where nothing was recorded', () => {
    const slots = slotsOf({ cols, rows }, ['down_bytes', 'up_bytes'], span);
    expect(slots.map(({ values }) => values)).toEqual([[2, 1], null, [4, 3], [0, 0]]);
    expect(slots[0]?.from_ms).toBe(last - 3 * QUARTER_MS);
    expect(slots[3]?.to_ms).toBe(last + QUARTER_MS);
  });

  it('sum the rows of a longer period', () => {
    const slots = slotsOf({ cols, rows }, ['up_bytes'], {
      ...span,
      step_ms: 4 * QUARTER_MS,
      length: 2,
    });
    expect(slots.flatMap(({ values }) => values ?? []).reduce((a, b) => a + b)).toBe(13);
  });

  it('without a record are merged', () => {
    const slots = slotsOf({ cols, rows: rows.slice(0, 2) }, ['up_bytes'], span);
    expect(runsOf(slots)).toEqual([
      { from: 0, length: 1, values: [1] },
      { from: 1, length: 3, values: null },
    ]);
  });
});

describe('recorded rates', () => {
  const samples = recorded({ cols, rows }, QUARTER_MS, 4, now_ms);

  it('are means of the recorded seconds, without a sample for unrecorded periods', () => {
    expect(samples.map(({ at_ms }) => at_ms - last)).toEqual(
      [-2.5, -0.5].map((n) => n * QUARTER_MS),
    );
    expect(samples.map(({ bps }) => [bps.slow, bps.flowtable, bps.ebpf])).toEqual([
      [8, 16, 0],
      [16, 0, 0],
    ]);
  });

  it('continue before the samples in memory', () => {
    const bps = { slow: 1, inspect: 0, flowtable: 0, hardware: 0, ebpf: 0 };
    const begin = last - QUARTER_MS + 60_000;
    const memory = [{ at_ms: begin, bps }];
    expect(continued(samples, memory).map(({ at_ms }) => at_ms)).toEqual([
      last - 2.5 * QUARTER_MS,
      begin,
    ]);
    expect(continued(samples, [])).toEqual(samples);
  });
});

describe('gaps', () => {
  const bps = { slow: 0, inspect: 0, flowtable: 0, hardware: 0, ebpf: 0 };
  const at = (s: number, step_s?: number) => ({
    at_ms: s * 1000,
    bps,
    ...(step_s !== undefined && { step_ms: step_s * 1000 }),
  });

  it('are before, between and after samples', () => {
    const whole = { from: 0, to: 100 };
    expect(gapsOf([at(20), at(21), at(22), at(50)], whole, 1)).toEqual([
      { from: 0, to: 19 },
      { from: 22.5, to: 49 },
      { from: 50.5, to: 100 },
    ]);
    expect(gapsOf([], whole, 1)).toEqual([whole]);
  });

  it('are not between regular samples, of which one may be late', () => {
    expect(gapsOf([at(0), at(1), at(2), at(4), at(5)], { from: 0, to: 5 }, 1)).toEqual([]);
    expect(gapsOf([at(5, 10), at(15, 10), at(21), at(22)], { from: 0, to: 22 }, 1)).toEqual([]);
  });
});
