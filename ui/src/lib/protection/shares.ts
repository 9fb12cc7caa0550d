// SPDX-License-Identifier: GPL-2.0-or-later

import { totalOf, type Sample } from '../live/ring';

export function byInspection(samples: readonly Sample[]): Sample[] {
  return samples.map(({ bps, ...rest }) => {
    const { slow, inspect, flowtable, hardware, ebpf } = bps;
    const off = flowtable + hardware + ebpf;
    return { ...rest, bps: { slow, inspect, flowtable: off, hardware: 0, ebpf: 0 } };
  });
}

/** Returns the inspected share of the bits, 0 to 1; `null` without traffic. */
export function shareInspected(samples: readonly Sample[]): number | null {
  const all = samples.reduce((sum, sample) => sum + totalOf(sample), 0);
  if (all === 0) return null;
  return samples.reduce((sum, sample) => sum + sample.bps.inspect, 0) / all;
}
