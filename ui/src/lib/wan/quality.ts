// SPDX-License-Identifier: GPL-2.0-or-later

import type { Usage } from '../api/types';

const QUARTER_MS = 900_000;
const SLOTS = 96;

/** Probes of a quarter hour; the times are 0 if none was answered. */
export interface Quality {
  probes: number;
  lost: number;
  min_us: number;
  mean_us: number;
  max_us: number;
}

/** Returns the begin of the last 24 hours in whole quarter hours, Unix ms. */
export const dayFrom = (now_ms: number): number =>
  (Math.floor(now_ms / QUARTER_MS) - SLOTS + 1) * QUARTER_MS;

/** Returns 24 hours from `from_ms` by quarter hour; `null` where nothing was measured. */
export function qualityOf(
  { wans = [] }: Pick<Usage, 'wans'>,
  name: string,
  from_ms: number,
): (Quality | null)[] {
  const slots = Array.from({ length: SLOTS }, (): Quality | null => null);
  // The history truncates names to the kernel's limit.
  const wan = wans.find((each) => each.name === name.slice(0, 15));
  for (const row of wan?.rows ?? []) {
    const value = (column: string) => row[wan?.cols.indexOf(column) ?? -1] ?? 0;
    const slot = Math.floor((value('at_ms') - from_ms) / QUARTER_MS);
    const probes = value('probes');
    if (!(slot in slots) || probes === 0) continue;
    const [lost, min_us, mean_us] = [value('lost'), value('min_us'), value('mean_us')];
    slots[slot] = { probes, lost, min_us, mean_us, max_us: value('max_us') };
  }
  return slots;
}

/** Returns the quality of all slots together; `null` if nothing was measured. */
export function overall(slots: readonly (Quality | null)[]): Quality | null {
  const known = slots.filter((slot) => slot !== null);
  if (known.length === 0) return null;
  const sum = (of: (slot: Quality) => number) => known.reduce((all, slot) => all + of(slot), 0);
  const answered = sum(({ probes, lost }) => probes - lost);
  const heard = known.filter(({ probes, lost }) => probes > lost);
  return {
    probes: sum(({ probes }) => probes),
    lost: sum(({ lost }) => lost),
    min_us: Math.min(...heard.map(({ min_us }) => min_us)),
    mean_us: sum(({ probes, lost, mean_us }) => (probes - lost) * mean_us) / answered,
    max_us: Math.max(...heard.map(({ max_us }) => max_us), 0),
  };
}
