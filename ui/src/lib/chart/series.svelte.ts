// SPDX-License-Identifier: GPL-2.0-or-later

import type { Fastpath } from '../api/fastpath';
import type { Usage } from '../api/types';
import { Question } from '../live/answer.svelte';
import type { Live } from '../live/live.svelte';
import { poll } from '../live/poll.svelte';
import { samplesOf, SPAN_MS, type Sample } from '../live/ring';
import { continued, DAY_MS, QUARTER_MS, recorded } from './past';

/** Length and step of each span, in seconds. */
export const spans = {
  minutes: { length_s: SPAN_MS / 1000, step_s: 1 },
  hour: { length_s: 3600, step_s: 10 },
  day: { length_s: 86_400, step_s: 60 },
  month: { length_s: 30 * 86_400, step_s: 3600 },
  year: { length_s: 365 * 86_400, step_s: 86_400 },
} as const;
export type Span = keyof typeof spans;
export const spanNames = Object.keys(spans) as Span[];

export class Series {
  span = $state<Span>('minutes');
  /** Poll of the history for a span longer than `minutes`. */
  private older = $state.raw<Question<readonly Sample[]> | null>(null);

  constructor(
    private readonly live: Live,
    private readonly api: Fastpath,
  ) {}

  get samples(): readonly Sample[] {
    return this.span === 'minutes' ? this.live.samples : (this.older?.answer ?? []);
  }

  get loading(): boolean {
    return this.span !== 'minutes' && this.older?.answer === null;
  }

  awaiting(loading: string): string {
    return this.live.awaiting(loading);
  }

  get trouble(): string {
    return this.loading ? (this.older?.trouble ?? '') : '';
  }

  /** Starts to poll the samples of a span, and drops those of the previous one. */
  follow(span: Exclude<Span, 'minutes'>): Question<readonly Sample[]> {
    const asked = new Question<readonly Sample[]>((signal) => this.read(span, signal));
    this.older = asked;
    return asked;
  }

  /** Reads the daemon's memory, and flash for what is older. */
  private async read(span: Exclude<Span, 'minutes'>, signal?: AbortSignal): Promise<Sample[]> {
    const { length_s, step_s } = spans[span];
    const now_ms = this.live.status?.now_ms ?? Date.now();
    const from_ms = now_ms - length_s * 1000;
    if (step_s === 86_400) {
      const days = await this.usage({ step: 'day', from_ms }, signal);
      return recorded(days, DAY_MS, length_s / step_s + 1, now_ms);
    }
    const step_ms = Math.max(step_s * 1000, QUARTER_MS);
    const quarters = await this.usage({ step: 'quarter', from_ms }, signal);
    const older = recorded(quarters, step_ms, (length_s * 1000) / step_ms + 1, now_ms);
    if (step_s === 3600) return older;
    return continued(
      older,
      samplesOf(await this.api.call('history', { series: 'rate', step_s }, signal)),
    );
  }

  /** Reads all recorded rows, of which one answer may have only the newest. */
  private async usage(
    { step, from_ms }: { step: 'day' | 'quarter'; from_ms: number },
    signal?: AbortSignal,
  ): Promise<Pick<Usage, 'cols' | 'rows'>> {
    const rows: number[][] = [];
    for (let to_ms: number | undefined; ; to_ms = rows[0]?.[0]) {
      const args = { step, from_ms, ...(to_ms !== undefined && { to_ms }) };
      const part = await this.api.call('usage', args, signal);
      rows.unshift(...part.rows);
      if (!part.more || part.rows.length === 0) return { cols: part.cols, rows };
    }
  }
}

/** Returns the samples of a chart. Polls the router until the calling component is destroyed. */
export function series(live: Live, api: Fastpath): Series {
  const made = new Series(live, api);
  $effect(() => {
    const { span } = made;
    if (span === 'minutes') return;
    poll(live, Math.min(spans[span].step_s, 900) * 1000, made.follow(span).ask);
  });
  return made;
}
