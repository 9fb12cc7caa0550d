// SPDX-License-Identifier: GPL-2.0-or-later
/** The drafts that screens have opened, for the badges: a draft outlives its screen. */

import { SvelteMap } from 'svelte/reactivity';
import type { Screen } from './route.svelte';

interface Opened {
  screen: Screen;
  /** Another session must not see its edits. */
  session: string;
  draft: { readonly edits: readonly unknown[] };
}

/** By the names of their files. */
const opened = new SvelteMap<string, Opened>();

/** Adds the draft of a screen, or replaces the one of the same files. */
export function keepDraft(files: string, draft: Opened): void {
  opened.set(files, draft);
}

/** How many edits of a screen are not applied. */
export function editsOn(screen: Screen, session: string): number {
  return [...opened.values()]
    .filter((each) => each.screen === screen && each.session === session)
    .reduce((sum, { draft }) => sum + draft.edits.length, 0);
}
