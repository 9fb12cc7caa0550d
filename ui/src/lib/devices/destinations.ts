// SPDX-License-Identifier: GPL-2.0-or-later

import type { Flow, FlowPage } from '../api/types';
import { rowsOf } from '../flows/rows';

/** Flows of a device with the same other end, by name if it is known. */
export interface Destination {
  /** Name of the other end; its address if it has none. */
  key: string;
  /** Address of its largest flow; empty if `key` is the address. */
  address: string;
  open: number;
  ended: number;
  down_bps: number;
  up_bps: number;
  down_bytes: number;
  up_bytes: number;
  /** Its largest open flow, otherwise the largest ended one. */
  flow: Flow;
}

/** Groups a page of flows, sorted by bytes, by the other end of the device with `addresses`. */
export function destinationsOf(page: FlowPage, addresses: readonly string[]): Destination[] {
  const own = new Set(addresses);
  const found = new Map<string, Destination>();
  for (const row of rowsOf(page)) {
    if (row.kind !== 'flow') continue;
    const { flow } = row;
    const opened = own.has(flow.src);
    const [address, name] = opened ? [flow.nat_dst, flow.dst_name] : [flow.src, flow.src_name];
    const [up, down] = opened ? (['up', 'down'] as const) : (['down', 'up'] as const);
    const key = name || address;
    const known = found.get(key);
    const ended = flow.path === 'ended';
    const sum = known ?? {
      ...{ key, address: name ? address : '', open: 0, ended: 0, flow },
      ...{ down_bps: 0, up_bps: 0, down_bytes: 0, up_bytes: 0 },
    };
    if (sum.open === 0 && !ended) sum.flow = flow;
    sum[ended ? 'ended' : 'open'] += 1;
    sum.up_bps += ended ? 0 : flow[`${up}_bps`];
    sum.down_bps += ended ? 0 : flow[`${down}_bps`];
    sum.up_bytes += flow[`${up}_bytes`];
    sum.down_bytes += flow[`${down}_bytes`];
    found.set(key, sum);
  }
  const bytes = (of: Destination) => of.down_bytes + of.up_bytes;
  return [...found.values()].sort((a, b) => bytes(b) - bytes(a));
}
