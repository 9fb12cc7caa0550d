// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { FlowsQuery } from '../api/types';
import { FlowWindow } from './table.svelte';

class Daemon {
  ids: number[] = [];
  asked: FlowsQuery[] = [];
  fault: Fault | null = null;

  call(_: string, query: FlowsQuery) {
    this.asked.push(query);
    if (this.fault) return Promise.reject(this.fault);
    const { offset = 0, limit = 100 } = query;
    const rows = this.ids.slice(offset, offset + limit).map((id) => [id]);
    const totals = { total: this.ids.length, matched: this.ids.length, epoch: 1, now_ms: 0 };
    return Promise.resolve({ ...totals, cols: ['id'], rows });
  }
}

let daemon: Daemon;
let table: FlowWindow;
const reported: unknown[] = [];
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const keys = () => table.rows.slice(0, 3).map((row) => row.key);

beforeEach(async () => {
  daemon = new Daemon();
  daemon.ids = Array.from({ length: 1000 }, (_, i) => i + 1);
  reported.length = 0;
  const live = { report: (fault: unknown) => void reported.push(fault) };
  table = new FlowWindow(daemon as unknown as Fastpath, live);
  table.show({ first: 0, end: 40 });
  table.ask({ sort: 'bps' });
  await settled();
});

it('shows the first rows of a query', () => {
  expect(keys()).toEqual(['f1', 'f2', 'f3']);
  expect(table).toMatchObject({ matched: 1000, offset: 0, stale: false });
});

describe('a refresh', () => {
  beforeEach(() => daemon.ids.reverse());

  it('moves rows unless the user reads them', async () => {
    table.refresh();
    await settled();
    expect(keys()).toEqual(['f1000', 'f999', 'f998']);
    expect(table.held).toBe(0);
  });

  it('holds rows under the pointer and catches up when it leaves', async () => {
    table.read(true);
    table.refresh();
    await settled();
    table.refresh();
    await settled();
    expect(keys()).toEqual(['f1', 'f2', 'f3']);
    expect(table.held).toBe(2);
    table.read(false);
    expect(keys()).toEqual(['f1000', 'f999', 'f998']);
    expect(table.held).toBe(0);
  });

  it('is dropped if its answer arrives after the pause', async () => {
    table.refresh();
    table.pause(true);
    await settled();
    expect(keys()).toEqual(['f1', 'f2', 'f3']);
  });

  it('requests nothing while paused and refreshes afterwards', async () => {
    table.pause(true);
    const before = daemon.asked.length;
    table.refresh();
    table.refresh();
    table.read(true);
    table.read(false);
    await settled();
    expect(daemon.asked).toHaveLength(before);
    expect(table.held).toBe(2);
    expect(keys()).toEqual(['f1', 'f2', 'f3']);
    table.pause(false);
    await settled();
    expect(keys()).toEqual(['f1000', 'f999', 'f998']);
    expect(table.held).toBe(0);
  });
});

it('fetches further rows only near the end of the known rows', async () => {
  const before = daemon.asked.length;
  table.show({ first: 10, end: 50 });
  await settled();
  expect(daemon.asked).toHaveLength(before);
  table.show({ first: 500, end: 540 });
  await settled();
  expect(daemon.asked).toHaveLength(before + 1);
  expect(table.known.first).toBeLessThan(500);
  expect(table.known.end).toBeGreaterThan(540);
});

it('fetches the last position of a long scroll', async () => {
  for (let first = 0; first < 900; first += 50) table.show({ first, end: first + 40 });
  await settled();
  await settled();
  expect(table.known.first).toBeLessThanOrEqual(850);
  expect(table.known.end).toBeGreaterThanOrEqual(890);
});

it('starts at the top for another query, even under the pointer', async () => {
  table.show({ first: 500, end: 540 });
  await settled();
  table.read(true);
  daemon.ids = [5, 6];
  table.ask({ sort: 'bytes' });
  expect(table.stale).toBe(true);
  await settled();
  expect(table).toMatchObject({ offset: 0, matched: 2, stale: false });
  expect(keys()).toEqual(['f5', 'f6']);
});

it('drops held rows of an earlier query', async () => {
  table.read(true);
  table.refresh();
  await settled();
  daemon.ids = [5, 6];
  table.ask({ sort: 'bytes' });
  await settled();
  table.read(false);
  expect(keys()).toEqual(['f5', 'f6']);
});

it('keeps its rows and reports a refusal', async () => {
  daemon.fault = new Fault('failed', 'fastpath flows: Invalid argument');
  table.refresh();
  await settled();
  expect(keys()).toEqual(['f1', 'f2', 'f3']);
  expect(table.trouble).toContain('Invalid argument');
  expect(reported).toHaveLength(1);
});
