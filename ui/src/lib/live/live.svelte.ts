// SPDX-License-Identifier: GPL-2.0-or-later
/** How often the page asks for `status` (every second), the pauses after failures (1, 2, 4, then 8
 * s), when it asks for the history, and the states of the connection. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { EngineState, Status } from '../api/types';
import { t } from '../i18n/t';
import { pause } from './pause';
import { sampleOf, samplesOf, withSample, type Sample } from './ring';

/** How the page gets its data from the router now. */
export type Connection = 'connecting' | 'live' | 'lost' | 'absent' | 'refused';

/** The default of the daemon's option `refresh`: how often it reads its counters. */
const POLL_MS = 1000;
/** Samples that are missing for so long are fetched from the router's history. */
const GAP_MS = 3000;
/** Waits between attempts; the last one is kept. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000];

/**
 * Keeps the router's state current while the page is visible: asks every second, and tries again
 * when the router is away. `run` is the only loop; stopping aborts its signal, and nothing is asked
 * until the next start.
 *
 * It does not subscribe to the daemon's notifications: uhttpd (7b1bec4, in OpenWrt 25.12.5) keeps
 * the connection of each subscriber that has gone, and accepts no more when it has a hundred.
 */
export class Live {
  status = $state.raw<Status | null>(null);
  samples = $state.raw<readonly Sample[]>([]);
  /** Changes with each answer: that of `flows` can be another one. */
  epoch = $state(0);
  connection = $state<Connection>('connecting');
  /** When the router last answered, browser's clock; 0: never. */
  heardAt = $state(0);
  /** Why the router refused. */
  refusal = $state('');

  /** The tab can be seen; nothing at all is asked while it cannot. */
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

  /** Forgets everything of the last session's router. */
  forget(): void {
    this.stop();
    this.status = null;
    this.samples = [];
    this.connection = 'connecting';
    this.heardAt = 0;
    this.failures = 0;
  }

  /** The router answers, as far as is known. */
  get answering(): boolean {
    return ['connecting', 'live'].includes(this.connection);
  }

  /** The router does, whether or not the daemon runs on it. */
  get reachable(): boolean {
    return this.answering || this.connection === 'absent';
  }

  /** In place of an answer that is not there yet: `loading`, unless none will come. */
  awaiting(loading: string): string {
    return this.answering ? loading : t('live.unread');
  }

  /** The engine after a change, until the next answer has it. */
  engineChanged(engine: EngineState): void {
    if (this.status) this.status = { ...this.status, engine };
  }

  /** Another call of the page failed: the same consequences as a failure here. */
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
    // An unusable answer is reported like a refusal: the loop must not end with it.
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
