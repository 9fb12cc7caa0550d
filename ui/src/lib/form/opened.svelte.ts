// SPDX-License-Identifier: GPL-2.0-or-later

import { untrack } from 'svelte';
import { Fault } from '../api/errors';
import type { Broken } from '../api/types-change';
import { reasonOf } from '../cause/cause';
import { pause } from '../live/pause';
import type { App } from '../shell/app.svelte';
import { changeOf } from './change.svelte';
import { Draft } from './draft.svelte';

const kept = new WeakMap<App, { session: string; draft: Draft }>();

/** Returns the draft of the session, shared by all screens. */
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
 * Loads the files of a screen into the draft. Files with edits are not reloaded. `loaded` is true
 * once all `needed` files are readable. Call this while a component is created.
 */
export function openFiles(app: App, configs: readonly string[], needed = configs.slice(0, 1)) {
  const draft = draftOf(app);
  const wanted = untrack(() => configs.filter((each) => !draft.edited(each)));
  let loaded = $state(wanted.length === 0);
  let trouble = $state('');
  let broken = $state.raw<Broken>();

  /** Retries every 2 s, because the router may be unreachable. */
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
    /** The router cannot parse a needed file. */
    get broken() {
      return broken !== undefined;
    },
  };
}
