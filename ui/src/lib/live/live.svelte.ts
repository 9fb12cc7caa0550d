// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { AlertNews, EngineState, Status, Tick } from '../api/types';
import { t } from '../i18n/t';
import { pause } from './pause';
import { sampleOf, samplesOf, withSample, type Sample } from './ring';

/** How the page hears from the router now. */
export type Connection = 'connecting' | 'live' | 'polling' | 'lost' | 'absent' | 'refused';

const POLL_MS = 2000;
/** Ticks come every second; after this silence the stream is taken as dead. */
const SILENCE_MS = 5000;
/** While polling, how often the stream is tried again. */
const RETRY_STREAM_MS = 30_000;
/** Waits between attempts; the last one is kept. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000];

/**
 * Keeps the router's state current while the page is visible: by its event stream, by polling
 * where there is none, and by trying again when the router is away. `run` is the only loop;
 * stopping aborts its signal, and nothing is asked until the next start.
 */
export class Live {
  status = $state.raw<Status | null>(null);
  samples = $state.raw<readonly Sample[]>([]);
  /** Changes whenever the answer of `flows` can have changed. */
  epoch = $state(0);
  connection = $state<Connection>('connecting');
  /** When the router last answered, browser's clock; 0: never. */
  heardAt = $state(0);
  /** What the router last told of rules that fired. */
  alerts = $state.raw<AlertNews | null>(null);
  /** Why the router refused, in words. */
  refusal = $state('');

  /** The tab can be seen; nothing at all is asked while it cannot. */
  visible = $state(true);

  private stopRun: AbortController | null = null;
  private failures = 0;
  private streamFailedAt = -Infinity;

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
    this.alerts = null;
    this.connection = 'connecting';
    this.heardAt = 0;
    this.failures = 0;
  }

  /** The router answers, as far as is known. */
  get answering(): boolean {
    return ['connecting', 'live', 'polling'].includes(this.connection);
  }

  /** The router does, whether or not the daemon runs on it. */
  get reachable(): boolean {
    return this.answering || this.connection === 'absent';
  }

  /** The engine after a change, until the next tick says it. */
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
        await this.follow(signal);
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
    if (status.now_ms - from_ms < POLL_MS + 1000) return;
    const history = await this.api.call('history', { series: 'rate', step_s: 1 }, signal);
    this.samples = samplesOf(history);
  }

  private async follow(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.streamFailedAt > RETRY_STREAM_MS) {
      const ended = await this.stream(signal);
      if (ended === 'ended') return pause(1000, signal);
    }
    this.connection = 'polling';
    await pause(POLL_MS, signal);
    this.epoch += 1;
  }

  /** Follows the stream until it ends; `absent` where the router offers none. */
  private async stream(signal: AbortSignal): Promise<'ended' | 'absent'> {
    const quiet = new AbortController();
    let timer = setTimeout(() => quiet.abort(), SILENCE_MS);
    try {
      for await (const news of this.api.news(AbortSignal.any([signal, quiet.signal]))) {
        if (news.kind === 'alert') {
          this.alerts = news.alert;
          continue;
        }
        clearTimeout(timer);
        timer = setTimeout(() => quiet.abort(), SILENCE_MS);
        this.ticked(news.tick);
      }
      return 'ended';
    } catch (fault) {
      if (!(fault instanceof Fault) || fault.kind !== 'denied') throw fault;
      this.streamFailedAt = performance.now();
      return 'absent';
    } finally {
      clearTimeout(timer);
    }
  }

  private ticked(tick: Tick): void {
    if (!this.status) return;
    const { epoch, ...rest } = tick;
    this.connection = 'live';
    this.epoch = epoch;
    this.heard({ ...this.status, ...rest });
  }

  private heard(status: Status): void {
    this.status = status;
    this.samples = withSample(this.samples, sampleOf(status.now_ms, status.paths));
    this.heardAt = Date.now();
    this.failures = 0;
    if (this.connection !== 'live' && this.connection !== 'polling') this.connection = 'connecting';
  }

  private failed(cause: unknown): void {
    // An answer that cannot be used is told like a refusal: the loop must not end with it.
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
