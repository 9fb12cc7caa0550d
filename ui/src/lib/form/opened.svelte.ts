// SPDX-License-Identifier: GPL-2.0-or-later
/** The one draft of a session, over the files of all screens; a screen's files are read every 2 s
 * until the router answers. */

import { untrack } from 'svelte';
import { Fault } from '../api/errors';
import type { Broken } from '../api/types-change';
import { reasonOf } from '../cause/cause';
import { pause } from '../live/pause';
import type { App } from '../shell/app.svelte';
import { changeOf } from './change.svelte';
import { Draft } from './draft.svelte';

const kept = new WeakMap<App, { session: string; draft: Draft }>();

/** The draft of this session: another session has none of its edits. */
export function draftOf(app: App): Draft {
  const { session } = app.ubus;
  const known = kept.get(app);
  if (known?.session === session) return known.draft;
  const reported = () =>
    (app.live.status?.problems ?? []).map((each) => ({ ...each, params: { ...each.params } }));
  const draft = new Draft(changeOf(app).router, reported);
  kept.set(app, { session, draft });
  return draft;
}

/**
 * The draft with the files of a screen in it. Edited ones stay as they are shown, the others are
 * read whenever a screen with them is opened. Without those `needed` it is not loaded. Called while
 * a component is created.
 */
export function opened(app: App, configs: readonly string[], needed = configs.slice(0, 1)) {
  const draft = draftOf(app);
  const wanted = untrack(() => configs.filter((each) => !draft.edited(each)));
  let loaded = $state(wanted.length === 0);
  let trouble = $state('');
  let broken = $state.raw<Broken>();

  /** Until they have been read: the router may be away just now. */
  async function load(signal: AbortSignal): Promise<void> {
    while (!loaded && !signal.aborted) {
      try {
        await draft.load(wanted, signal);
        broken = draft.broken.find(({ config }) => needed.includes(config));
        trouble = broken ? reasonOf('refusal', broken) : '';
        loaded = !broken;
        if (broken) await pause(2000, signal);
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
    untrack(() => void load(leave.signal));
    return () => leave.abort();
  });

  return {
    draft,
    get loaded() {
      return loaded;
    },
    get trouble() {
      return trouble;
    },
    /** The trouble is a file that the router cannot read. */
    get broken() {
      return broken !== undefined;
    },
  };
}
