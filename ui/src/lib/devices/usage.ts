// SPDX-License-Identifier: GPL-2.0-or-later

import type { Usage } from '../api/types';

/** Received and sent bytes; `null` if nothing was recorded. */
export type Sum = readonly [down: number, up: number] | null;

/** Returns the bytes of the periods that begin at a time or later. */
export function sumOf({ cols, rows }: Pick<Usage, 'cols' | 'rows'>, from_ms: number): Sum {
  const [at = -1, down = -1, up = -1] = ['at_ms', 'down_bytes', 'up_bytes'].map((name) =>
    cols.indexOf(name),
  );
  const within = rows.filter((row) => (row[at] ?? 0) >= from_ms);
  if (within.length === 0) return null;
  const sum = (column: number) => within.reduce((all, row) => all + (row[column] ?? 0), 0);
  return [sum(down), sum(up)];
}

/**
 * Returns the recorded bytes of both directions by MAC; `null` if nothing was recorded, so that a
 * device without bytes has an unknown sum.
 */
export function bytesByMac(usage: Usage | null): ReadonlyMap<string, number> | null {
  if (!usage || usage.rows.length === 0) return null;
  const of = (usage.devices ?? []).map(
    (each) => [each.mac, each.up_bytes + each.down_bytes] as const,
  );
  return new Map(of);
}
