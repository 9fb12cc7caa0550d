// SPDX-License-Identifier: GPL-2.0-or-later
/** Recorded traffic by period, and periods without a record. */

import type { Fastpath } from '../api/fastpath';
import type { Journal, Usage } from '../api/types';
import type { Sample } from '../live/ring';
import { paths } from '../path/path';
import type { View } from './view';

export const DAY_MS = 86_400_000;
export const QUARTER_MS = 900_000;

type Rows = Pick<Usage, 'cols' | 'rows'>;

/** A period, with one sum per column; `null` if nothing was recorded in it. */
export interface Slot {
  from_ms: number;
  to_ms: number;
  values: readonly number[] | null;
}

/** Local midnights differ by so much in UTC over a year. */
const SAVING_MS = 2 * 3_600_000;

/**
 * Sums recorded rows into `length` periods of `step_ms`; the last one includes `now_ms`. Days begin
 * when the daemon's do, at the router's midnight.
 */
export function slotsOf(
  { cols, rows }: Rows,
  names: readonly string[],
  { step_ms, length, now_ms }: { step_ms: number; length: number; now_ms: number },
): Slot[] {
  const at = cols.indexOf('at_ms');
  const columns = names.map((name) => cols.indexOf(name));
  const ofDays = step_ms % DAY_MS === 0;
  const phase = ofDays ? (rows.at(-1)?.[at] ?? 0) % DAY_MS : 0;
  const first = Math.floor((now_ms - phase) / step_ms) - length + 1;
  const sums: (number[] | null)[] = Array.from({ length }, () => null);
  for (const row of rows) {
    const begin = (row[at] ?? 0) - phase + (ofDays ? SAVING_MS : 0);
    const slot = Math.floor(begin / step_ms) - first;
    if (slot < 0 || slot >= length) continue;
    const sum = sums[slot];
    sums[slot] = columns.map((column, i) => (sum?.[i] ?? 0) + (row[column] ?? 0));
  }
  return sums.map((values, i) => ({
    from_ms: phase + (first + i) * step_ms,
    to_ms: phase + (first + i + 1) * step_ms,
    values,
  }));
}

/** Returns mean rates of recorded periods, each at its middle; unrecorded ones have no sample. */
export function recorded(usage: Rows, step_ms: number, length: number, now_ms: number): Sample[] {
  const names = ['recorded_s', ...paths.map((path) => `${path}_bytes`)];
  return slotsOf(usage, names, { step_ms, length, now_ms }).flatMap(({ from_ms, values }) => {
    const [seconds = 0, ...bytes] = values ?? [];
    if (seconds === 0) return [];
    const bps = paths.map((path, i) => [path, ((bytes[i] ?? 0) * 8) / seconds]);
    // The last period has not ended.
    const at_ms = Math.min(from_ms + step_ms / 2, now_ms);
    return { at_ms, step_ms, bps: Object.fromEntries(bps) as Sample['bps'] };
  });
}

/**
 * Returns a request for recorded rows that asks again only for the last known period and later
 * ones, because an answer about a long span costs a small router seconds.
 */
export function recording(api: Fastpath, args: { mac?: string; step: Usage['step'] }) {
  let known: number[][] = [];
  return async (from_ms: number, signal?: AbortSignal) => {
    const again_ms = known.at(-1)?.[0] ?? from_ms;
    const { cols, rows, storage } = await api.call('usage', { ...args, from_ms: again_ms }, signal);
    const first_ms = Math.min(again_ms, rows[0]?.[0] ?? again_ms);
    known = [...known.filter(([at_ms = 0]) => at_ms < first_ms), ...rows];
    return { cols, rows: known, storage };
  };
}

/** Maximum events of an answer. */
const EVENTS = 500;

/**
 * Returns a request for the last events, newest first, that asks again only for later ones, which
 * the router has in memory.
 */
export function journaling(api: Fastpath) {
  let known: Journal['events'] = [];
  let after = 0;
  return async function read(signal?: AbortSignal): Promise<Journal['events']> {
    const args = { limit: EVENTS, ...(after > 0 && { after }) };
    const { events, last_id } = await api.call('journal', args, signal);
    const later = events.filter(({ id }) => id > after);
    // 0 until the router has read its history; one whose history was deleted counts anew.
    const isOther = last_id > 0 && last_id < after;
    if (after > 0 && (isOther || later.length === EVENTS)) {
      after = 0;
      return read(signal);
    }
    known = after > 0 ? [...later.toReversed(), ...known].slice(0, EVENTS) : events;
    after = Math.max(after, last_id);
    return known;
  };
}

/** Adds recorded samples before the first one, which is the start of the daemon. */
export function continued(older: readonly Sample[], samples: readonly Sample[]): Sample[] {
  const begin = samples[0]?.at_ms ?? Infinity;
  return [...older.filter(({ at_ms, step_ms = 0 }) => at_ms + step_ms / 2 <= begin), ...samples];
}

/** Returns the periods of `whole` without samples, in Unix seconds. */
export function gapsOf(samples: readonly Sample[], whole: View, step_s: number): View[] {
  const gaps: View[] = [];
  let known = whole.from;
  for (const { at_ms, step_ms = step_s * 1000 } of samples) {
    const from = (at_ms - step_ms) / 1000;
    // A sample may be late by one step.
    if (from - known > step_ms / 1000) gaps.push({ from: known, to: from });
    known = Math.max(known, (at_ms + step_ms / 2) / 1000);
  }
  return known < whole.to - step_s ? [...gaps, { from: known, to: whole.to }] : gaps;
}

/** Returns the slots, with successive ones without a record merged. */
export function runsOf(slots: readonly Slot[]) {
  const runs: { from: number; length: number; values: Slot['values'] }[] = [];
  slots.forEach(({ values }, from) => {
    const last = runs.at(-1);
    if (values === null && last?.values === null) last.length += 1;
    else runs.push({ from, length: 1, values });
  });
  return runs;
}
