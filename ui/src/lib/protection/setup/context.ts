// SPDX-License-Identifier: GPL-2.0-or-later
import { createContext } from 'svelte';
import type { Problem } from '../../form/change.svelte';
import type { Draft } from '../../form/draft.svelte';

/** The draft of policy and rules, with its problems. */
export interface Setup {
  readonly draft: Draft;
  readonly problems: readonly Problem[];
  /** Controls are disabled. */
  readonly disabled: boolean;
}

export const [getSetup, setSetup] = createContext<Setup>();
