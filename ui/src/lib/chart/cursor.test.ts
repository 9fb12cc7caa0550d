// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import type { Sample } from '../live/ring';
import { Cursor } from './cursor.svelte';

const sample = (at_s: number): Sample => ({
  at_ms: at_s * 1000,
  bps: { slow: at_s, inspect: 0, flowtable: 0, hardware: 0, ebpf: 0 },
});
const seconds = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => sample(first + i));

let live: Sample[];
let cursor: Cursor;

beforeEach(() => {
  live = seconds(1001, 1300);
  cursor = new Cursor(
    () => live,
    () => 'minutes',
  );
});

function tick() {
  live = seconds((live[0]?.at_ms ?? 0) / 1000 + 1, (live.at(-1)?.at_ms ?? 0) / 1000 + 1);
}

const move = (by: number) => cursor.act({ kind: 'move', by });

it('shows the newest sample and follows it', () => {
  expect(cursor.shown?.at_ms).toBe(1_300_000);
  expect(cursor.view).toEqual({ from: 1000, to: 1300 });
  tick();
  expect(cursor.shown?.at_ms).toBe(1_301_000);
  expect(cursor.view).toEqual({ from: 1001, to: 1301 });
});

it('the chart follows new samples under the pointer', () => {
  cursor.point(100);
  expect(cursor.shown?.at_ms).toBe(1_101_000);
  tick();
  expect(cursor.view.to).toBe(1301);
});

describe('the keyboard cursor', () => {
  it('moves by samples and stays at its time', () => {
    move(-1);
    expect(cursor.shown?.at_ms).toBe(1_299_000);
    tick();
    expect(cursor.shown?.at_ms).toBe(1_299_000);
    expect(cursor.view.to).toBe(1300);
    move(1);
    move(1);
    expect(cursor.shown?.at_ms).toBe(1_300_000);
    cursor.act({ kind: 'end', newest: false });
    move(-1);
    expect(cursor.shown?.at_ms).toBe(1_001_000);
  });

  it('ends the hold of the samples when it is reset', () => {
    move(-1);
    tick();
    cursor.point(null);
    expect(cursor.shown?.at_ms).toBe(1_301_000);
  });

  it('does not move without samples', () => {
    live = [];
    expect(move(-1)).toBe(false);
    expect(cursor.shown).toBeUndefined();
    expect(cursor.act({ kind: 'stretch', times: 0.5 })).toBe(false);
    cursor.select({ from: 1100, to: 1150 });
    expect(cursor.zoom).toBeNull();
    live = seconds(1001, 1300);
    expect(cursor.shown?.at_ms).toBe(1_300_000);
  });
});

it('keeps the sample under a lifted finger', () => {
  cursor.point(100);
  cursor.hold();
  tick();
  expect(cursor.shown?.at_ms).toBe(1_101_000);
  cursor.point(null);
  expect(cursor.view.to).toBe(1301);
});

describe('the zoom', () => {
  it('shows the selected span until it is reset', () => {
    cursor.select({ from: 1100, to: 1150 });
    tick();
    expect(cursor.view).toEqual({ from: 1100, to: 1150 });
    expect(cursor.samples.at(-1)?.at_ms).toBe(1_300_000);
    expect(cursor.act({ kind: 'reset' })).toBe(true);
    expect(cursor.view).toEqual({ from: 1001, to: 1301 });
    expect(cursor.act({ kind: 'reset' })).toBe(false);
  });

  it('keeps the keyboard cursor in view', () => {
    cursor.select({ from: 1100, to: 1150 });
    cursor.act({ kind: 'end', newest: true });
    expect(cursor.shown?.at_ms).toBe(1_150_000);
    move(1);
    expect(cursor.shown?.at_ms).toBe(1_150_000);
    move(-100);
    expect(cursor.shown?.at_ms).toBe(1_100_000);
  });

  it('keeps the cursor in place, and is limited to the whole span', () => {
    cursor.point(99);
    cursor.act({ kind: 'stretch', times: 1 / 2 });
    expect(cursor.view).toEqual({ from: 1050, to: 1200 });
    cursor.act({ kind: 'shift', share: 1 / 4 });
    expect(cursor.view).toEqual({ from: 1087.5, to: 1237.5 });
    cursor.act({ kind: 'stretch', times: 2 });
    expect(cursor.zoom).toBeNull();
  });

  it('does not shift the whole span', () => {
    expect(cursor.act({ kind: 'shift', share: 1 / 4 })).toBe(false);
  });
});
