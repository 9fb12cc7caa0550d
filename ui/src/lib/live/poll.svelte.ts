// SPDX-License-Identifier: GPL-2.0-or-later
/** Polling that depends on the component, the tab and the connection. */

import { untrack } from 'svelte';
import type { Live } from './live.svelte';
import { pause } from './pause';

/**
 * Calls `ask` repeatedly while the component is mounted, the tab is visible and the daemon answers
 * (`answering`) or the router does (`reachable`). A failure is reported and does not stop the
 * polling; `ask` keeps its last data.
 */
export function poll(
  live: Live,
  ms: number,
  ask: (signal: AbortSignal) => Promise<void>,
  whom: 'answering' | 'reachable' = 'answering',
): void {
  $effect(() => {
    if (!live.visible || !live[whom]) return;
    const stop = new AbortController();
    untrack(() => void rounds(live, ms, ask, stop.signal));
    return () => stop.abort();
  });
}

/** Polls while the router answers, whether or not the daemon does. */
export const pollRouter = (live: Live, ms: number, ask: (signal: AbortSignal) => Promise<void>) =>
  poll(live, ms, ask, 'reachable');

async function rounds(
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
