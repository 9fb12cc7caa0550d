// SPDX-License-Identifier: GPL-2.0-or-later
/** Keeps the draft of a screen with edits while other screens are shown; its files are read every 2
 * s until the router answers. */

import { Fault } from '../api/errors';
import { pause } from '../live/pause';
import type { App } from '../shell/app.svelte';
import { keepDraft } from '../shell/drafts.svelte';
import { changeOf } from './change.svelte';
import { Draft } from './draft.svelte';

const kept = new Map<string, { session: string; draft: Draft }>();

/**
 * The draft of a screen, read when the screen is first shown: switching to another screen keeps its
 * edits. Called while a component is created.
 */
export function opened(app: App, configs: readonly string[]) {
  const key = configs.join();
  const { session } = app.ubus;
  const known = kept.get(key);
  const fresh = known?.session !== session || known.draft.edits.length === 0;
  const reported = () =>
    (app.live.status?.problems ?? []).map((each) => ({ ...each, params: { ...each.params } }));
  const draft = fresh ? new Draft(changeOf(app).router, configs, reported) : known.draft;
  kept.set(key, { session, draft });
  const { screen } = app.route.place;
  $effect(() => keepDraft(key, { screen, session, draft }));
  let trouble = $state('');

  /** Until it has been read: the router may be away just now. */
  async function load(signal: AbortSignal): Promise<void> {
    while (!draft.loaded && !signal.aborted) {
      try {
        await draft.load(signal);
        trouble = '';
      } catch (fault) {
        if (signal.aborted) return;
        if (!(fault instanceof Fault)) throw fault;
        app.live.report(fault);
        trouble = fault.message;
        await pause(2000, signal);
      }
    }
  }

  $effect(() => {
    if (!app.live.visible) return;
    const leave = new AbortController();
    void load(leave.signal);
    return () => leave.abort();
  });

  return {
    draft,
    get trouble() {
      return trouble;
    },
  };
}
