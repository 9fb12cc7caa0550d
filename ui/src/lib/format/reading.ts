// SPDX-License-Identifier: GPL-2.0-or-later
/** Context for accounts that may only read: controls that they cannot use are shown as text. */

import { createContext } from 'svelte';

/** Known once the router has answered; until then controls are disabled and keep their place. */
export const [readsOnly, setReadsOnly] = createContext<() => boolean>();
