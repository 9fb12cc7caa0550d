// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { FlowsQuery } from '../api/types';
import type { Live } from '../live/live.svelte';
import { distinct, keepOrder, rowsOf, type Row } from './rows';
import { isShort, windowAround, type Range } from './window';

/** Trigger of a fetch. Only `refresh` must not move rows under the pointer. */
type Trigger = 'query' | 'scroll' | 'refresh';

/**
 * A window of the daemon's flow table. The daemon filters, sorts and pages; this class fetches the
 * rows around the visible ones, and keeps them in place while the user reads.
 */
export class FlowWindow {
  rows = $state.raw<readonly Row[]>([]);
  /** Index of `rows[0]` in the whole table. */
  offset = $state(0);
  matched = $state<number | null>(null);
  total = $state(0);
  stale = $state(true);
  trouble = $state('');
  /** Number of updates held back while the user reads. */
  held = $state(0);
  paused = $state(false);
  /** The pointer or the focus is on the rows. */
  reading = $state(false);

  private query: FlowsQuery | null = null;
  private visible: Range = { first: 0, end: 40 };
  private pending: { rows: readonly Row[]; offset: number } | null = null;
  private asking: { stop: AbortController; trigger: Trigger } | null = null;

  constructor(
    private readonly api: Fastpath,
    private readonly live: Pick<Live, 'report'>,
  ) {}

  get known(): Range {
    return { first: this.offset, end: this.offset + this.rows.length };
  }

  ask(query: FlowsQuery): void {
    this.query = query;
    this.stale = true;
    this.visible = { first: 0, end: this.visible.end - this.visible.first };
    void this.fetch('query');
  }

  /** Sets the visible rows; fetches more near the end of the known rows. */
  show(visible: Range): void {
    this.visible = visible;
    if (this.matched === null || this.stale) return;
    if (isShort(this.known, visible, this.matched)) void this.fetch('scroll');
  }

  /** Fetches current figures; while paused, only counts the update. */
  refresh(): void {
    if (this.paused) this.held += 1;
    else if (this.query && !this.asking) void this.fetch('refresh');
  }

  release(): void {
    const pending = this.pending;
    this.held = 0;
    this.pending = null;
    if (!pending) return;
    this.rows = pending.rows;
    this.offset = pending.offset;
  }

  read(reading: boolean): void {
    this.reading = reading;
    if (!reading && !this.paused) this.release();
  }

  pause(paused: boolean): void {
    this.paused = paused;
    if (paused) {
      // Otherwise the answer to an earlier refresh would arrive during the pause.
      if (this.asking?.trigger === 'refresh') this.stop();
      return;
    }
    this.release();
    void this.fetch('refresh');
  }

  stop(): void {
    this.asking?.stop.abort();
    this.asking = null;
  }

  private async fetch(trigger: Trigger): Promise<void> {
    // A scroll waits for the running fetch, because only the last position counts.
    if (trigger === 'scroll' && this.asking && this.asking.trigger !== 'refresh') return;
    this.stop();
    const asking = { stop: new AbortController(), trigger };
    this.asking = asking;
    const around = windowAround(this.visible, this.matched ?? Number.MAX_SAFE_INTEGER);
    try {
      const request = { ...this.query, ...around };
      const page = await this.api.call('flows', request, asking.stop.signal);
      if (asking.stop.signal.aborted) return;
      this.total = page.total;
      this.matched = page.matched;
      this.trouble = '';
      this.take(distinct(rowsOf(page)), around.offset, trigger);
    } catch (fault) {
      if (asking.stop.signal.aborted) return;
      this.failed(fault);
    } finally {
      if (this.asking === asking) this.asking = null;
    }
    if (this.asking === null) this.show(this.visible);
  }

  private take(rows: Row[], offset: number, trigger: Trigger): void {
    this.stale = false;
    if (trigger === 'refresh' && this.reading) {
      this.rows = keepOrder(this.rows, rows);
      this.pending = { rows, offset };
      this.held += 1;
      return;
    }
    this.rows = rows;
    this.offset = offset;
    this.pending = null;
    if (trigger !== 'scroll') this.held = 0;
  }

  private failed(fault: unknown): void {
    this.live.report(fault);
    if (!(fault instanceof Fault)) throw fault;
    if (fault.kind === 'failed' || fault.kind === 'denied') this.trouble = fault.message;
  }
}
