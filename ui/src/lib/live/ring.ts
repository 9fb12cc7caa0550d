// SPDX-License-Identifier: GPL-2.0-or-later

import type { History, Paths } from '../api/types';
import { paths, type LivePath } from '../path/path';

export interface Sample {
  at_ms: number;
  /** Period that the sample is the mean of, if not the step of the series. */
  step_ms?: number;
  bps: Record<LivePath, number>;
}

export const SPAN_MS = 5 * 60 * 1000;

export function samplesOf(history: History): Sample[] {
  const at = history.cols.indexOf('at_ms');
  const columns = paths.map((path) => [path, history.cols.indexOf(path)] as const);
  return history.rows.map((row) => ({
    at_ms: row[at] ?? 0,
    bps: Object.fromEntries(columns.map(([path, col]) => [path, row[col] ?? 0])) as Sample['bps'],
  }));
}

export function sampleOf(at_ms: number, totals: Paths): Sample {
  const bps = Object.fromEntries(paths.map((path) => [path, totals[path].bps]));
  return { at_ms, bps: bps as Sample['bps'] };
}

/** Appends a sample, and drops samples older than the chart. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1);
  // The router's clock was set back, for example by NTP after boot, so older samples have no
  // position.
  if (last && sample.at_ms < last.at_ms - 1000) return [sample];
  const kept = samples.filter(
    (each) => each.at_ms > sample.at_ms - SPAN_MS && each.at_ms < sample.at_ms - 200,
  );
  return [...kept, sample];
}

export function totalOf(sample: Sample): number {
  return paths.reduce((sum, path) => sum + sample.bps[path], 0);
}
