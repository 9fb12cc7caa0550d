// SPDX-License-Identifier: GPL-2.0-or-later
/** Whether controls that change nothing are shown as text: the account may only read. */

import { createContext } from 'svelte';

/** Known once the router has answered; until then a control is disabled and keeps its place. */
export const [readsOnly, setReadsOnly] = createContext<() => boolean>();
