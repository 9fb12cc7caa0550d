// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { EngineState, Status } from '../api/types';
import { t } from '../i18n/t';
import { pause } from './pause';
import { sampleOf, samplesOf, withSample, type Sample } from './ring';

/**
 * State of the connection.
 *
 *     connecting, live -> lost (no answer), absent (no daemon), refused -> live
 */
export type Connection = 'connecting' | 'live' | 'lost' | 'absent' | 'refused';

/** The daemon's default interval of reading counters, option `refresh`. */
const POLL_MS = 1000;
/** Gaps in the samples longer than this are filled from the history. */
const GAP_MS = 3000;
/** Delays of retries; the last one is repeated. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000];

/**
 * Polls the router's status every second while the page is visible, and backs off while the router
 * is unreachable. `run` is the only loop; `stop` aborts its signal.
 *
 * Polls instead of subscribing to the daemon's notifications, because uhttpd (7b1bec4, in OpenWrt
 * 25.12.5) keeps the connections of departed subscribers, and accepts at most a hundred.
 */
export class Live {
  status = $state.raw<Status | null>(null);
  samples = $state.raw<readonly Sample[]>([]);
  /** Incremented with each status, when the answer of `flows` may have changed. */
  epoch = $state(0);
  connection = $state<Connection>('connecting');
  /** Browser time of the last answer; 0 if there is none. */
  answeredAt = $state(0);
  refusal = $state('');

  /** Nothing is requested while the tab is hidden. */
  visible = $state(true);

  private stopRun: AbortController | null = null;
  private failures = 0;

  constructor(
    private readonly api: Fastpath,
    private readonly onExpired: () => void,
  ) {}

  start(): void {
    if (this.stopRun) return;
    this.stopRun = new AbortController();
    void this.run(this.stopRun.signal);
  }

  stop(): void {
    this.stopRun?.abort();
    this.stopRun = null;
  }

  reset(): void {
    this.stop();
    this.status = null;
    this.samples = [];
    this.connection = 'connecting';
    this.answeredAt = 0;
    this.failures = 0;
  }

  /** True unless the last request failed. */
  get answering(): boolean {
    return ['connecting', 'live'].includes(this.connection);
  }

  /** True if the router answers, even if the daemon does not run. */
  get reachable(): boolean {
    return this.answering || this.connection === 'absent';
  }

  /**
   * Returns the text in place of a missing answer: `loading`, or that the router does not answer.
   */
  awaiting(loading: string): string {
    return this.answering ? loading : t('live.unread');
  }

  engineChanged(engine: EngineState): void {
    if (this.status) this.status = { ...this.status, engine };
  }

  /** Handles the fault of another call: an expired session ends the page's session. */
  report(fault: unknown): void {
    if (fault instanceof Fault && fault.kind === 'session') this.onExpired();
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.load(signal);
        await pause(POLL_MS, signal);
      } catch (fault) {
        if (signal.aborted) return;
        this.failed(fault);
        const wait = BACK_OFF_MS[Math.min(this.failures, BACK_OFF_MS.length) - 1] ?? 1000;
        await pause(wait, signal);
      }
    }
  }

  private async load(signal: AbortSignal): Promise<void> {
    const status = await this.api.call('status', {}, signal);
    const from_ms = this.samples.at(-1)?.at_ms ?? 0;
    this.received(status);
    if (status.now_ms - from_ms < GAP_MS) return;
    const history = await this.api.call('history', { series: 'rate', step_s: 1 }, signal);
    this.samples = samplesOf(history);
  }

  private received(status: Status): void {
    this.status = status;
    this.samples = withSample(this.samples, sampleOf(status.now_ms, status.paths));
    this.answeredAt = Date.now();
    this.failures = 0;
    this.connection = 'live';
    this.epoch += 1;
  }

  private failed(cause: unknown): void {
    // An unusable answer counts as a refusal, because the loop must not end.
    const fault = cause instanceof Fault ? cause : new Fault('failed', String(cause));
    this.failures += 1;
    if (fault.kind === 'session') {
      this.stop();
      this.onExpired();
    } else if (fault.kind === 'unreachable') {
      this.connection = 'lost';
    } else if (fault.kind === 'absent') {
      this.connection = 'absent';
    } else {
      this.connection = 'refused';
      const denied = fault.kind === 'denied';
      this.refusal = denied ? t('banner.denied') : t('banner.failed', { text: fault.message });
    }
  }
}
