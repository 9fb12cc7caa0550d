// SPDX-License-Identifier: GPL-2.0-or-later
/** VLANs of the filter, requested once. */

import type { App } from '../shell/app.svelte';
import { vlansOf } from '../topology/model';

class KnownVlans {
  all = $state.raw<readonly number[]>([]);

  /** Returns all VLANs, and the chosen one even if it is unknown. */
  with(chosen: number): readonly number[] {
    if (chosen === 0 || this.all.includes(chosen)) return this.all;
    return [...this.all, chosen].sort((a, b) => a - b);
  }
}

export function knownVlans(app: Pick<App, 'api' | 'live'>): KnownVlans {
  const known = new KnownVlans();
  $effect(() => {
    if (!app.live.answering || !app.live.visible || known.all.length > 0) return;
    const stop = new AbortController();
    app.api
      .call('topology', {}, stop.signal)
      .then((topology) => (known.all = vlansOf(topology)))
      .catch((fault: unknown) => stop.signal.aborted || app.live.report(fault));
    return () => stop.abort();
  });
  return known;
}
