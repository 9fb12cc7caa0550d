// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Alert, AlertFilter, Alerts } from '../api/types';
import type { Live } from '../live/live.svelte';

/** Number of alerts at first, and on request (the daemon's limit). */
export const FIRST_LIMIT = 100;
export const MAX_LIMIT = 500;

/** Minimum interval between requests: nobody can follow a flood of alerts. */
const PAUSE_MS = 1000;

/**
 * The newest alerts that match a filter. A newer id in the status triggers a request for the alerts
 * after the last answer. While the user reads, new alerts are held back, so that nothing moves
 * under the pointer or the focus.
 */
export class AlertFeed {
  alerts = $state.raw<readonly Alert[]>([]);
  /** Matching alerts of the daemon and later ones; `null` before the first answer. */
  total = $state<number | null>(null);
  waiting = $state.raw<readonly Alert[]>([]);
  trouble = $state('');
  reading = $state(false);
  limit = $state(FIRST_LIMIT);

  private filter: AlertFilter = {};
  private last = 0;
  private asking: AbortController | null = null;
  private later: ReturnType<typeof setTimeout> | undefined;
  private askedAt = -Infinity;

  constructor(
    private readonly api: Pick<Fastpath, 'call'>,
    private readonly live: Pick<Live, 'report'>,
  ) {}

  ask(filter: AlertFilter, limit = FIRST_LIMIT): void {
    this.filter = filter;
    this.limit = limit;
    this.last = 0;
    void this.fetch();
  }

  /** Requests new alerts if the newest id has changed. */
  see(last: number): void {
    // Before the first query the filter is unknown; an unanswered query is repeated.
    if (this.askedAt === -Infinity || this.asking) return;
    if (this.total !== null && last === this.last) return;
    // A restarted daemon counts from one.
    if (last < this.last) this.last = 0;
    const since = performance.now() - this.askedAt;
    if (since >= PAUSE_MS) void this.fetch();
    else this.later ??= setTimeout(() => this.seeAgain(last), PAUSE_MS - since);
  }

  private seeAgain(last: number): void {
    this.later = undefined;
    this.see(last);
  }

  read(reading: boolean): void {
    this.reading = reading;
    if (!reading) this.release();
  }

  release(): void {
    const waiting = this.waiting;
    this.waiting = [];
    if (waiting.length > 0) this.prepend(waiting);
  }

  stop(): void {
    clearTimeout(this.later);
    this.later = undefined;
    this.asking?.abort();
    this.asking = null;
  }

  private async fetch(): Promise<void> {
    this.stop();
    const asking = new AbortController();
    this.asking = asking;
    this.askedAt = performance.now();
    const since = this.last;
    const query = { filter: this.filter, limit: this.limit, ...(since > 0 ? { since } : {}) };
    try {
      const answer = await this.api.call('alerts', query, asking.signal);
      this.trouble = '';
      this.onAnswer(answer, since);
    } catch (fault) {
      if (asking.signal.aborted) return;
      this.live.report(fault);
      if (!(fault instanceof Fault)) throw fault;
      if (fault.kind === 'failed' || fault.kind === 'denied') this.trouble = fault.message;
    } finally {
      if (this.asking === asking) this.asking = null;
    }
  }

  private onAnswer(answer: Alerts, since: number): void {
    if (answer.last < since) {
      this.last = 0;
      void this.fetch();
      return;
    }
    this.last = answer.last;
    if (since === 0) {
      this.total = answer.total;
      this.alerts = answer.alerts;
      this.waiting = [];
    } else {
      // With `since`, `total` counts only the new alerts.
      this.total = (this.total ?? 0) + answer.total;
      this.take(answer.alerts);
    }
  }

  private take(fresh: readonly Alert[]): void {
    if (fresh.length === 0) return;
    if (this.reading) this.waiting = this.joined(fresh, this.waiting);
    else this.prepend(fresh);
  }

  private prepend(fresh: readonly Alert[]): void {
    this.alerts = this.joined(fresh, this.alerts);
  }

  private joined(fresh: readonly Alert[], old: readonly Alert[]): readonly Alert[] {
    const known = new Set(fresh.map((alert) => alert.id));
    return [...fresh, ...old.filter((alert) => !known.has(alert.id))].slice(0, this.limit);
  }
}
