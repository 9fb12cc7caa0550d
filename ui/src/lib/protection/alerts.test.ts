// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Alert, AlertsQuery } from '../api/types';
import { AlertFeed, FIRST_LIMIT, MAX_LIMIT } from './alerts.svelte';
import { anAlert } from './examples';

class Daemon {
  ring: Alert[] = [];
  asked: AlertsQuery[] = [];
  fault: Fault | null = null;

  get last() {
    return this.ring[0]?.id ?? 0;
  }

  fire(number: number): number {
    const newest = this.last + number;
    this.ring = [...Array.from({ length: number }, (_, i) => anAlert(newest - i)), ...this.ring];
    return this.last;
  }

  async call(_: string, query: AlertsQuery, signal: AbortSignal) {
    this.asked.push(query);
    await Promise.resolve();
    signal.throwIfAborted();
    if (this.fault) throw this.fault;
    const { since = 0, limit = 100, filter = {} } = query;
    const fits = this.ring.filter(
      (each) => each.id > since && (!filter.action || each.action === filter.action),
    );
    const alerts = fits.slice(0, limit);
    return { total: fits.length, seen: this.last, last: this.last, alerts };
  }
}

let daemon: Daemon;
let feed: AlertFeed;
const reported: unknown[] = [];
const settled = () => vi.advanceTimersByTimeAsync(0);
const ids = () => feed.alerts.slice(0, 3).map((alert) => alert.id);

beforeEach(async () => {
  vi.useFakeTimers();
  daemon = new Daemon();
  daemon.fire(3);
  reported.length = 0;
  const live = { report: (fault: unknown) => void reported.push(fault) };
  feed = new AlertFeed(daemon as unknown as Fastpath, live);
  feed.ask({});
  await settled();
});

afterEach(() => vi.useRealTimers());

it('starts with the newest alerts', () => {
  expect(ids()).toEqual([3, 2, 1]);
  expect(feed).toMatchObject({ total: 3 });
});

describe('newer alerts', () => {
  it('are requested after the pause, even a single one', async () => {
    await vi.advanceTimersByTimeAsync(400);
    daemon.fire(1);
    feed.see(4);
    expect(daemon.asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(599);
    expect(daemon.asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    await settled();
    expect(ids()).toEqual([4, 3, 2]);
    feed.stop();
  });

  it('are not requested once the feed is stopped', async () => {
    feed.see(daemon.fire(1));
    feed.stop();
    await vi.advanceTimersByTimeAsync(5000);
    expect(daemon.asked).toHaveLength(1);
  });

  it('are all requested if many arrive at once', async () => {
    await vi.advanceTimersByTimeAsync(1000);
    feed.see(daemon.fire(40));
    await settled();
    expect(daemon.asked.at(-1)).toMatchObject({ since: 3 });
    expect(feed.alerts).toHaveLength(43);
    expect(ids()).toEqual([43, 42, 41]);
  });

  it('are filtered by the daemon', async () => {
    feed.ask({ action: 'blocked' });
    await vi.advanceTimersByTimeAsync(1000);
    feed.see(daemon.fire(3));
    await settled();
    expect(feed.alerts.every((alert) => alert.action === 'blocked')).toBe(true);
    expect(daemon.asked.at(-1)).toMatchObject({ filter: { action: 'blocked' } });
  });
});

it('limits requests to one per second, and the list to the number shown', async () => {
  for (let tenth = 0; tenth < 100; tenth++) {
    daemon.fire(500);
    feed.see(daemon.last);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(daemon.asked.length).toBeLessThanOrEqual(12);
  expect(feed.alerts).toHaveLength(FIRST_LIMIT);
  // Includes alerts that were not fetched.
  expect(feed.total).toBe(feed.alerts[0]?.id);
  expect(feed.alerts[0]?.id).toBeGreaterThan(45_000);
});

describe('while the user reads', () => {
  it('holds new alerts back and keeps rows in place', async () => {
    await vi.advanceTimersByTimeAsync(1000);
    feed.read(true);
    feed.see(daemon.fire(2));
    await settled();
    expect(ids()).toEqual([3, 2, 1]);
    expect(feed.waiting).toHaveLength(2);
    feed.read(false);
    expect(ids()).toEqual([5, 4, 3]);
    expect(feed.waiting).toHaveLength(0);
  });
});

it('starts over when the daemon restarts', async () => {
  await vi.advanceTimersByTimeAsync(1000);
  daemon.ring = [anAlert(1, { sid: 7 })];
  feed.see(1);
  await settled();
  expect(feed.alerts.map((alert) => alert.sid)).toEqual([7]);
});

it.each([
  ['failed', () => (daemon.fault = new Fault('unreachable', 'no answer from the router'))],
  ['was given up', (late: AlertFeed) => late.stop()],
])('repeats its first query if it %s', async (_, spoil) => {
  const late = new AlertFeed(daemon as unknown as Fastpath, { report: () => undefined });
  late.see(3);
  await settled();
  expect(daemon.asked).toHaveLength(1);
  late.ask({ action: 'blocked' });
  spoil(late);
  await vi.advanceTimersByTimeAsync(1000);
  expect(late.total).toBeNull();
  daemon.fault = null;
  late.see(3);
  await settled();
  expect(late.total).toBe(2);
});

it('shows more alerts on request', async () => {
  daemon.fire(300);
  feed.ask({}, MAX_LIMIT);
  await settled();
  expect(feed.alerts).toHaveLength(303);
});

it('keeps its alerts and reports a refusal', async () => {
  await vi.advanceTimersByTimeAsync(1000);
  daemon.fault = new Fault('failed', 'fastpath alerts: Invalid argument');
  feed.see(9);
  await settled();
  expect(ids()).toEqual([3, 2, 1]);
  expect(feed.trouble).toContain('Invalid argument');
  expect(reported).toHaveLength(1);
});
