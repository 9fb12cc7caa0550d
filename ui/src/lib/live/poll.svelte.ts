// SPDX-License-Identifier: GPL-2.0-or-later

import { untrack } from 'svelte';
import type { Live } from './live.svelte';
import { pause } from './pause';

/**
 * Calls `ask` repeatedly while the component is mounted, the tab is visible and the daemon answers
 * (`answering`) or the router does (`reachable`). A fault is reported and does not stop the
 * polling.
 */
export function poll(
  live: Live,
  ms: number,
  ask: (signal: AbortSignal) => Promise<void>,
  condition: 'answering' | 'reachable' = 'answering',
): void {
  $effect(() => {
    if (!live.visible || !live[condition]) return;
    const stop = new AbortController();
    untrack(() => void pollLoop(live, ms, ask, stop.signal));
    return () => stop.abort();
  });
}

/** Polls while the router answers, even if the daemon does not run. */
export const pollRouter = (live: Live, ms: number, ask: (signal: AbortSignal) => Promise<void>) =>
  poll(live, ms, ask, 'reachable');

async function pollLoop(
  live: Live,
  ms: number,
  ask: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await ask(signal).catch((fault: unknown) => {
      if (!signal.aborted) live.report(fault);
    });
    await pause(ms, signal);
  }
}
