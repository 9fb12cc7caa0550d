// SPDX-License-Identifier: GPL-2.0-or-later

import type { Flow, FlowDetail, FlowPage, TopRow } from '../api/types';

export type Row =
  { kind: 'flow'; key: string; flow: Flow } | { kind: 'group'; key: string; group: TopRow };

export function rowsOf(page: FlowPage): Row[] {
  const grouped = !page.cols.includes('id');
  return page.rows.map((cells) => {
    const fields = Object.fromEntries(page.cols.map((name, i) => [name, cells[i]]));
    if (grouped) {
      const group = fields as unknown as TopRow;
      return { kind: 'group', key: `g${group.key}`, group };
    }
    const flow = fields as unknown as Flow;
    return { kind: 'flow', key: `f${flow.id}`, flow };
  });
}

/** Returns the held rows in their order, with figures of the new page. */
export function keepOrder(held: readonly Row[], fresh: readonly Row[]): Row[] {
  const known = new Map(fresh.map((row) => [row.key, row]));
  return held.map((row) => known.get(row.key) ?? row);
}

/** Removes duplicates: a flow may move between two pages while they are fetched. */
export function distinct(rows: readonly Row[]): Row[] {
  const seen = new Set<string>();
  return rows.filter((row) => !seen.has(row.key) && seen.add(row.key));
}

/** Returns `10.0.0.1:443`, `[2001:db8::1]:443`, or the bare address if the port is 0. */
export function endpoint(address: string, port: number): string {
  if (port === 0) return address;
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

export function isTranslated(flow: Flow): boolean {
  return (
    flow.src !== flow.nat_src ||
    flow.sport !== flow.nat_sport ||
    flow.dst !== flow.nat_dst ||
    flow.dport !== flow.nat_dport
  );
}

/** ICMP has its id in place of ports, which is not shown. */
function hasPorts(flow: Flow): boolean {
  return ['tcp', 'udp', 'sctp', 'dccp', 'udplite'].includes(flow.proto);
}

export interface End {
  before: string;
  after: string;
  name: string;
  zone: string;
  vlan: number;
  device: string;
}

export function endsOf(flow: Flow): [End, End] {
  const ported = hasPorts(flow) ? 1 : 0;
  const end = (host: 'src' | 'dst', port: 'sport' | 'dport', side: 'in' | 'out'): End => ({
    before: endpoint(flow[host], flow[port] * ported),
    after: endpoint(flow[`nat_${host}`], flow[`nat_${port}`] * ported),
    name: flow[`${host}_name`],
    zone: flow[`${side}_zone`],
    vlan: flow[`${side}_vlan`],
    device: flow[`${side}_dev`],
  });
  return [end('src', 'sport', 'in'), end('dst', 'dport', 'out')];
}

/** Returns the end of a flow and its offloaded share; the share is `null` without bytes. */
export function endOf({ flow, events, offloaded_bytes }: FlowDetail) {
  const bytes = flow.up_bytes + flow.down_bytes;
  return {
    at_ms: events.findLast(({ path }) => path === 'ended')?.at_ms ?? 0,
    share: bytes > 0 ? Math.min(offloaded_bytes, bytes) / bytes : null,
  };
}
