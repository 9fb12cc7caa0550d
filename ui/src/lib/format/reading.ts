// SPDX-License-Identifier: GPL-2.0-or-later
/** Context that reports whether the account is read-only, so that controls are shown as text. */

import { createContext } from 'svelte';

/** False until the router has answered; until then controls are disabled and keep their place. */
export const [readsOnly, setReadsOnly] = createContext<() => boolean>();
