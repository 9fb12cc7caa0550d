// SPDX-License-Identifier: GPL-2.0-or-later

import type { Fastpath } from '../api/fastpath';
import { Question } from '../live/answer.svelte';
import type { Live } from '../live/live.svelte';
import { poll } from '../live/poll.svelte';
import { samplesOf, SPAN_MS, type Sample } from '../live/ring';

/** Length and step of each span, in seconds. */
export const spans = {
  minutes: { length_s: SPAN_MS / 1000, step_s: 1 },
  hour: { length_s: 3600, step_s: 10 },
  day: { length_s: 86_400, step_s: 60 },
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

  /** Starts to poll samples in steps of 10 or 60 s, and drops those of the previous span. */
  follow(step_s: 10 | 60): Question<readonly Sample[]> {
    const read = async (signal?: AbortSignal) =>
      samplesOf(await this.api.call('history', { series: 'rate', step_s }, signal));
    const asked = new Question<readonly Sample[]>(read);
    this.older = asked;
    return asked;
  }
}

/** Returns the samples of a chart. Polls the router until the calling component is destroyed. */
export function series(live: Live, api: Fastpath): Series {
  const made = new Series(live, api);
  $effect(() => {
    const { step_s } = spans[made.span];
    if (step_s !== 1) poll(live, step_s * 1000, made.follow(step_s).ask);
  });
  return made;
}
