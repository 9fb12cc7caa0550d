// SPDX-License-Identifier: GPL-2.0-or-later
import { createContext } from 'svelte';
import type { Problem } from '../../form/change.svelte';
import type { Draft } from '../../form/draft.svelte';

/** What policy and rules are edited in. */
export interface Setup {
  readonly draft: Draft;
  readonly problems: readonly Problem[];
  /** Nothing can be changed now. */
  readonly disabled: boolean;
}

export const [getSetup, setSetup] = createContext<Setup>();
