// SPDX-License-Identifier: GPL-2.0-or-later

import type { LivePath } from '../path/path';
import { totalOf, type Sample } from '../live/ring';
import { paths } from '../path/path';

/** Unix seconds, then one row per path with the sum of all paths up to it. */
export type Stack = number[][];

/** Bottom first. The slow path is at the bottom, so that the axis shows its rate. */
export const stackOrder: readonly LivePath[] = [...paths].reverse();

/** Returns the paths with traffic, and always the slow path and the flowtable. */
export function usedPaths(samples: readonly Sample[]): LivePath[] {
  const always: readonly LivePath[] = ['slow', 'flowtable'];
  return stackOrder.filter(
    (path) => always.includes(path) || samples.some((sample) => sample.bps[path] > 0),
  );
}

export function stack(samples: readonly Sample[], used: readonly LivePath[]): Stack {
  const rows: Stack = [samples.map((sample) => sample.at_ms / 1000)];
  let below = samples.map(() => 0);
  for (const path of used) {
    below = below.map((sum, i) => sum + (samples[i]?.bps[path] ?? 0));
    rows.push(below);
  }
  return rows;
}

export interface Digest {
  peak: number;
  peakAt_ms: number;
  /** Offloaded share of the span's bits, 0 to 1. */
  offloaded: number;
}

/** Returns peak and offloaded share; `null` without traffic. */
export function digest(samples: readonly Sample[]): Digest | null {
  let peak = 0;
  let peakAt_ms = 0;
  let sum = 0;
  let slow = 0;
  for (const sample of samples) {
    const total = totalOf(sample);
    if (total > peak) {
      peak = total;
      peakAt_ms = sample.at_ms;
    }
    sum += total;
    slow += sample.bps.slow + sample.bps.inspect;
  }
  if (sum === 0) return null;
  return { peak, peakAt_ms, offloaded: 1 - slow / sum };
}

/** Returns at most `rows` evenly spaced samples, newest first. */
export function thinned(samples: readonly Sample[], rows: number): Sample[] {
  const step = Math.max(1, Math.ceil(samples.length / rows));
  return samples.filter((_, i) => (samples.length - 1 - i) % step === 0).reverse();
}
