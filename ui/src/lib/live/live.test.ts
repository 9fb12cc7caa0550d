// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fault, type FaultKind } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { History, Paths, Status } from '../api/types';
import { Live } from './live.svelte';
import { sampleOf, samplesOf, SPAN_MS, withSample } from './ring';

const none = { flows: 0, bytes: 0, packets: 0, bps: 0, pps: 0 };
const carried: Paths = {
  slow: { ...none, bps: 5 },
  inspect: none,
  flowtable: { ...none, bps: 95 },
  hardware: none,
  ebpf: none,
};

class Router {
  fault: FaultKind | null = null;
  calls: string[] = [];

  call(method: string) {
    this.calls.push(method);
    if (this.fault) return Promise.reject(new Fault(this.fault, 'refused'));
    if (method === 'status')
      return Promise.resolve({ now_ms: Date.now(), paths: carried } as Status);
    const cols = ['at_ms', 'slow', 'inspect', 'flowtable', 'hardware', 'ebpf'];
    const rows = [10_000, 1000].map((ago) => [Date.now() - ago, 1, 0, 9, 0, 0]);
    return Promise.resolve({ series: 'rate', step_s: 1, cols, rows } satisfies History);
  }
}

let router: Router;
let live: Live;
const expired = vi.fn();

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  router = new Router();
  live = new Live(router as unknown as Fastpath, expired);
  expired.mockClear();
});

afterEach(() => {
  live.stop();
  vi.useRealTimers();
});

describe('Live', () => {
  it('polls once a second, and requests the history once', async () => {
    live.start();
    await vi.advanceTimersByTimeAsync(10_500);
    expect(live.connection).toBe('live');
    expect(live.awaiting('Loading …')).toBe('Loading …');
    expect(live.epoch).toBe(11);
    expect(router.calls.filter((call) => call === 'status')).toHaveLength(11);
    expect(router.calls.filter((call) => call === 'history')).toHaveLength(1);
    expect(live.samples.length).toBeGreaterThan(10);
  });

  it('requests nothing once stopped', async () => {
    live.start();
    await vi.advanceTimersByTimeAsync(3000);
    live.stop();
    const before = router.calls.length;
    const epoch = live.epoch;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(router.calls).toHaveLength(before);
    expect(live.epoch).toBe(epoch);
  });

  it('keeps its data while the router is unreachable, and recovers', async () => {
    live.start();
    await vi.advanceTimersByTimeAsync(3500);
    router.fault = 'unreachable';
    await vi.advanceTimersByTimeAsync(5000);
    expect(live.connection).toBe('lost');
    expect(live.answering).toBe(false);
    expect(live.status).not.toBeNull();
    expect(Date.now() - live.answeredAt).toBeGreaterThan(4000);
    router.fault = null;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(live.connection).toBe('live');
  });

  it('reports that the daemon is absent or refuses', async () => {
    router.fault = 'absent';
    live.start();
    await vi.advanceTimersByTimeAsync(100);
    expect(live).toMatchObject({ connection: 'absent', refusal: '' });
    expect(live.awaiting('Loading …')).toBe('Not known: fastpathd does not respond.');
    router.fault = 'failed';
    await vi.advanceTimersByTimeAsync(10_000);
    expect(live.connection).toBe('refused');
    expect(live.refusal).toContain('refused');
    router.fault = 'denied';
    await vi.advanceTimersByTimeAsync(10_000);
    expect(live.refusal).toContain('account');
  });

  it('reports an unusable answer and continues', async () => {
    const call = router.call.bind(router);
    router.call = (): Promise<never> => Promise.reject(new SyntaxError('not JSON'));
    live.start();
    await vi.advanceTimersByTimeAsync(100);
    expect(live.refusal).toContain('not JSON');
    router.call = call;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(live.connection).toBe('live');
  });

  it('stops when the session expires', async () => {
    router.fault = 'session';
    live.start();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(expired).toHaveBeenCalledOnce();
    expect(router.calls).toHaveLength(1);
  });
});

describe('samples', () => {
  it('are read from a history by column names', () => {
    const [sample] = samplesOf({
      series: 'rate',
      step_s: 1,
      cols: ['slow', 'at_ms'],
      rows: [[7, 9]],
    });
    expect(sample).toMatchObject({ at_ms: 9, bps: { slow: 7, flowtable: 0 } });
  });

  it('drop samples that are too old, duplicate, or older than a clock step', () => {
    const old = withSample([], sampleOf(1000, carried));
    expect(withSample(old, sampleOf(1000 + SPAN_MS + 1, carried))).toHaveLength(1);
    expect(withSample(old, sampleOf(1100, carried))).toHaveLength(1);
    expect(withSample(old, sampleOf(2000, carried))).toHaveLength(2);
    const late = withSample([], sampleOf(9_000_000, carried));
    expect(withSample(late, sampleOf(1000, carried)).map((each) => each.at_ms)).toEqual([1000]);
  });
});
