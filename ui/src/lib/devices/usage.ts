// SPDX-License-Identifier: GPL-2.0-or-later

import type { Usage } from '../api/types';

const QUARTER_MS = 900_000;
const SLOTS = 96;

/** Bytes of a period; `null` if nothing was recorded in it. */
export type Slot = readonly [down: number, up: number] | null;

type Rows = Pick<Usage, 'cols' | 'rows'>;

function columns({ cols }: Rows) {
  return ['at_ms', 'down_bytes', 'up_bytes'].map((name) => cols.indexOf(name));
}

/** Returns the bytes of the last 24 hours by quarter hour, oldest first. */
export function slotsOf(usage: Rows, now_ms: number): Slot[] {
  const [at = -1, down = -1, up = -1] = columns(usage);
  const first = Math.floor(now_ms / QUARTER_MS) - SLOTS + 1;
  const slots = Array.from({ length: SLOTS }, (): Slot => null);
  for (const row of usage.rows) {
    const slot = Math.floor((row[at] ?? 0) / QUARTER_MS) - first;
    if (slot in slots) slots[slot] = [row[down] ?? 0, row[up] ?? 0];
  }
  return slots;
}

/** Returns the bytes of the periods that begin at a time or later; `null` without a record. */
export function sumOf(usage: Rows, from_ms: number): Slot {
  const [at = -1, down = -1, up = -1] = columns(usage);
  const rows = usage.rows.filter((row) => (row[at] ?? 0) >= from_ms);
  if (rows.length === 0) return null;
  const sum = (column: number) => rows.reduce((all, row) => all + (row[column] ?? 0), 0);
  return [sum(down), sum(up)];
}

/** Returns the last midnight in the browser's time zone, Unix ms. */
export const midnight = (now_ms: number): number => new Date(now_ms).setHours(0, 0, 0, 0);

export const DAY_MS = 86_400_000;
