// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Change, RECONNECT_S, type Wanted } from './change.svelte';

class Router {
  asked: [method: string, args: Record<string, unknown>][] = [];
  wan: { name: string; up: boolean; hindrance: string }[] = [];
  state: Record<string, unknown> = {};

  request = (object: string, method: string, args: object): Promise<Record<string, unknown>> => {
    if (object === 'fastpath') return Promise.resolve({ wan: this.wan });
    this.asked.push([method, args as Record<string, unknown>]);
    const change = { id: 7, at_ms: 5, user: 'root', note: '', diff: [] };
    if (method === 'apply') this.state = { pending: { ...change, left_s: 20 }, last: null };
    if (method === 'revert') this.state = { pending: null, last: { ...change, state: 'reverted' } };
    return Promise.resolve(method === 'apply' ? { id: 7, seconds: RECONNECT_S } : this.state);
  };

  get methods() {
    return this.asked.map(([method]) => method);
  }
}

describe('a change that may interrupt the Internet connection', () => {
  const password = {
    edits: [{ config: 'network', op: 'set', section: 'wan', values: { password: 'new' } }],
  } satisfies Wanted;
  const line = (up: boolean, hindrance = '') => [{ name: 'wan', up, hindrance }];

  let router: Router;
  let storage: Map<string, string>;
  let change: Change;

  const opened = () =>
    new Change(
      router,
      {
        getItem: (key) => storage.get(key) ?? null,
        setItem: (key, value) => void storage.set(key, value),
        removeItem: (key) => void storage.delete(key),
      },
      'router',
    );

  beforeEach(() => {
    vi.useFakeTimers();
    router = new Router();
    router.wan = line(true);
    storage = new Map();
    change = opened();
    return () => vi.useRealTimers();
  });

  /** Polls the change for `ms` with this `in_force`; returns whether the page confirmed it. */
  async function followed(in_force: boolean | null, ms: number, left_s = 20): Promise<boolean> {
    router.state = { pending: { id: 7, diff: [], left_s, in_force }, last: null };
    const stop = new AbortController();
    const following = change.follow(stop.signal);
    await vi.advanceTimersByTimeAsync(ms);
    stop.abort();
    await vi.advanceTimersByTimeAsync(1000);
    await following;
    return router.methods.includes('confirm');
  }

  it('is confirmed once the connection is up again', async () => {
    await change.apply(password);
    expect(router.asked[0]?.[1]).toMatchObject({ seconds: RECONNECT_S });
    router.wan = line(false);
    expect(await followed(null, 50_000)).toBe(false);
    expect(change.down).toEqual(['wan']);
    router.wan = line(true);
    expect(await followed(null, 2500)).toBe(true);
  });

  it('is rolled back and reported if the connection stays down', async () => {
    await change.apply(password);
    router.wan = line(false);
    expect(await followed(null, 20_000, 5)).toBe(false);
    expect(change.outcome).toBe('line-down');
    expect(change.down).toEqual(['wan']);
    expect(storage.size).toBe(0);
  });

  it('does not report WANs of an earlier change', async () => {
    await change.apply(password);
    router.wan = line(false);
    await followed(null, 20_000, 5);
    await change.apply({ edits: [{ config: 'firewall', op: 'delete', section: 'old' }] });
    expect(change.down).toEqual([]);
  });

  it('waits for the connection even after a reload of the page', async () => {
    await change.apply(password);
    router.wan = line(false);
    change = opened();
    expect(await followed(true, 5000)).toBe(false);
    expect(change.down).toEqual(['wan']);
  });

  it.each([
    ['was down before', line(false), line(false)],
    ['is removed', line(true), []],
    ['is switched off', line(true), line(false, 'disconnected')],
  ])('does not wait for a connection that %s', async (_, before, after) => {
    router.wan = before;
    await change.apply(password);
    router.wan = after;
    expect(await followed(true, 2500)).toBe(true);
  });

  it.each([
    ['network', 'br_lan'],
    ['wireless', 'wwan'],
  ])('waits for the connection after a change of %s', async (config, section) => {
    await change.apply({ edits: [{ config, op: 'delete', section }] });
    router.wan = line(false);
    expect(await followed(true, 5000)).toBe(false);
  });

  it('does not wait for the connection after a firewall change', async () => {
    await change.apply({ edits: [{ config: 'firewall', op: 'delete', section: 'old' }] });
    router.wan = line(false);
    expect(await followed(true, 2500)).toBe(true);
  });
});
