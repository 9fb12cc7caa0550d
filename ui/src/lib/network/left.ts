// SPDX-License-Identifier: GPL-2.0-or-later
/**
 * Memberships that a port or an SSID leaves when it joins another VLAN. The cell names them, and
 * undoing the choice restores them.
 */

import type { Draft } from '../form/draft.svelte';

/** Replaced memberships, by draft and by cell of the new one. */
const known = new WeakMap<Draft, Map<string, unknown>>();

const keyOf = (cell: readonly string[]) => JSON.stringify(cell);

export function remember(draft: Draft, cell: readonly string[], left: unknown): void {
  const all = known.get(draft) ?? new Map<string, unknown>();
  known.set(draft, all.set(keyOf(cell), left));
}

export const recall = <T>(draft: Draft, cell: readonly string[]): T | undefined =>
  known.get(draft)?.get(keyOf(cell)) as T | undefined;

export function forget(draft: Draft, cell: readonly string[]): void {
  known.get(draft)?.delete(keyOf(cell));
}
