// SPDX-License-Identifier: GPL-2.0-or-later
/** The samples of the chosen span: 5 minutes from the live loop; an hour in steps of 10 s and a day
 * in steps of a minute from the router's history. */

import type { Fastpath } from '../api/fastpath';
import { Question } from '../live/answer.svelte';
import type { Live } from '../live/live.svelte';
import { poll } from '../live/poll.svelte';
import { samplesOf, SPAN_MS, type Sample } from '../live/ring';

/** How far back a chart looks, and how far its samples are apart. */
export const spans = {
  minutes: { length_s: SPAN_MS / 1000, step_s: 1 },
  hour: { length_s: 3600, step_s: 10 },
  day: { length_s: 86_400, step_s: 60 },
} as const;
export type Span = keyof typeof spans;
export const spanNames = Object.keys(spans) as Span[];

/** The samples of a chart, and the choice of its span. */
export class Series {
  span = $state<Span>('minutes');
  /** Of the longer spans. */
  private older = $state.raw<Question<readonly Sample[]> | null>(null);

  constructor(
    private readonly live: Live,
    private readonly api: Fastpath,
  ) {}

  get samples(): readonly Sample[] {
    return this.span === 'minutes' ? this.live.samples : (this.older?.answer ?? []);
  }

  /** Whether the router has not answered yet for this span. */
  get loading(): boolean {
    return this.span !== 'minutes' && this.older?.answer === null;
  }

  /** In place of the chart while it is loading. */
  awaiting(loading: string): string {
    return this.live.awaiting(loading);
  }

  /** Why the router does not answer; empty if it does. */
  get trouble(): string {
    return this.loading ? (this.older?.trouble ?? '') : '';
  }

  /** Samples in steps of 10 or 60 s; those of the last span are dropped. */
  follow(step_s: 10 | 60): Question<readonly Sample[]> {
    const read = async (signal?: AbortSignal) =>
      samplesOf(await this.api.call('history', { series: 'rate', step_s }, signal));
    const asked = new Question<readonly Sample[]>(read);
    this.older = asked;
    return asked;
  }
}

/** The samples of a chart, asked for while its component is there. */
export function series(live: Live, api: Fastpath): Series {
  const made = new Series(live, api);
  $effect(() => {
    const { step_s } = spans[made.span];
    if (step_s !== 1) poll(live, step_s * 1000, made.follow(step_s).ask);
  });
  return made;
}
