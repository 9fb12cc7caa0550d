// SPDX-License-Identifier: GPL-2.0-or-later
/** Polls the router's status every second and tracks the state of the connection. */

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

/** Default of the daemon's option `refresh`, the interval at which it reads its counters. */
const POLL_MS = 1000;
/** Gaps of this length in the samples are filled from the router's history. */
const GAP_MS = 3000;
/** Delays between attempts; the last one is repeated. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000];

/**
 * Keeps the router's state current while the page is visible: polls every second, and backs off
 * while the router is away. `run` is the only loop; stopping aborts its signal, and nothing is
 * requested until the next start.
 *
 * Polls instead of subscribing to the daemon's notifications: uhttpd (7b1bec4, in OpenWrt 25.12.5)
 * keeps the connections of subscribers that have left, and accepts no more than a hundred.
 */
export class Live {
  status = $state.raw<Status | null>(null);
  samples = $state.raw<readonly Sample[]>([]);
  /** Changes with each status, when the answer of `flows` may have changed, too. */
  epoch = $state(0);
  connection = $state<Connection>('connecting');
  /** Time of the router's last answer, by the browser's clock; 0 without one. */
  heardAt = $state(0);
  /** Why the router refused the request. */
  refusal = $state('');

  /** The tab is visible; nothing is requested while it is hidden. */
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

  /** Discards all data of the last session. */
  forget(): void {
    this.stop();
    this.status = null;
    this.samples = [];
    this.connection = 'connecting';
    this.heardAt = 0;
    this.failures = 0;
  }

  /** True unless a request has failed since the last answer. */
  get answering(): boolean {
    return ['connecting', 'live'].includes(this.connection);
  }

  /** True if the router answers, whether or not the daemon runs on it. */
  get reachable(): boolean {
    return this.answering || this.connection === 'absent';
  }

  /** Returns the text in place of a missing answer: `loading`, unless none will come. */
  awaiting(loading: string): string {
    return this.answering ? loading : t('live.unread');
  }

  /** Shows the engine after a change until the next answer arrives. */
  engineChanged(engine: EngineState): void {
    if (this.status) this.status = { ...this.status, engine };
  }

  /** Handles the failure of another call of the page: an expired session ends here as well. */
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
    this.heard(status);
    if (status.now_ms - from_ms < GAP_MS) return;
    const history = await this.api.call('history', { series: 'rate', step_s: 1 }, signal);
    this.samples = samplesOf(history);
  }

  private heard(status: Status): void {
    this.status = status;
    this.samples = withSample(this.samples, sampleOf(status.now_ms, status.paths));
    this.heardAt = Date.now();
    this.failures = 0;
    this.connection = 'live';
    this.epoch += 1;
  }

  private failed(cause: unknown): void {
    // An unusable answer is reported like a refusal, because the loop must not end.
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
