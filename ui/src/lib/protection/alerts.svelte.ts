// SPDX-License-Identifier: GPL-2.0-or-later
/** The alerts that the page shows, and the rate at which it requests new ones. */

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Alert, AlertFilter, Alerts } from '../api/types';
import type { Live } from '../live/live.svelte';

/** Alerts shown at first, and after asking for more (the daemon's limit). */
export const FEW = 100;
export const MANY = 500;

/** Minimum interval between requests, because nobody can follow a flood of alerts. */
const PAUSE_MS = 1000;

/**
 * The newest alerts that match a filter. When the status shows a newer alert, only the alerts since
 * the last answer are requested. While the user reads, new alerts are held back: nothing moves
 * under the pointer or the focus.
 */
export class AlertFeed {
  alerts = $state.raw<readonly Alert[]>([]);
  /** Matching alerts that the daemon had at first, plus later ones; `null` before that. */
  total = $state<number | null>(null);
  /** New alerts held back while the user reads. */
  waiting = $state.raw<readonly Alert[]>([]);
  trouble = $state('');
  reading = $state(false);
  limit = $state(FEW);

  private filter: AlertFilter = {};
  private last = 0;
  private asking: AbortController | null = null;
  /** Timer of the request that follows the pause. */
  private later: ReturnType<typeof setTimeout> | undefined;
  private askedAt = -Infinity;

  constructor(
    private readonly api: Pick<Fastpath, 'call'>,
    private readonly live: Pick<Live, 'report'>,
  ) {}

  /** Starts over with another filter. */
  ask(filter: AlertFilter, limit = FEW): void {
    this.filter = filter;
    this.limit = limit;
    this.last = 0;
    void this.fetch();
  }

  /** Takes note of the newest alert's id, and requests new alerts. */
  see(last: number): void {
    // The filter is unknown before the first query; a query without an answer is repeated.
    if (this.askedAt === -Infinity || this.asking) return;
    if (this.total !== null && last === this.last) return;
    // Ids restart with the daemon.
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

  /** Shows the held alerts. */
  release(): void {
    const waiting = this.waiting;
    this.waiting = [];
    if (waiting.length > 0) this.put(waiting);
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
      this.took(answer, since);
    } catch (fault) {
      if (asking.signal.aborted) return;
      this.live.report(fault);
      if (!(fault instanceof Fault)) throw fault;
      if (fault.kind === 'failed' || fault.kind === 'denied') this.trouble = fault.message;
    } finally {
      if (this.asking === asking) this.asking = null;
    }
  }

  private took(answer: Alerts, since: number): void {
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
    else this.put(fresh);
  }

  private put(fresh: readonly Alert[]): void {
    this.alerts = this.joined(fresh, this.alerts);
  }

  private joined(fresh: readonly Alert[], old: readonly Alert[]): readonly Alert[] {
    const known = new Set(fresh.map((alert) => alert.id));
    return [...fresh, ...old.filter((alert) => !known.has(alert.id))].slice(0, this.limit);
  }
}
