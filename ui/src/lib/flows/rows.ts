// SPDX-License-Identifier: GPL-2.0-or-later
/** A page of flows or groups as rows; addresses with ports, protocols with ports, translation. */

import type { Flow, FlowDetail, FlowPage, TopRow } from '../api/types';

/** A row of the table: one flow, or one group of them. */
export type Row =
  { kind: 'flow'; key: string; flow: Flow } | { kind: 'group'; key: string; group: TopRow };

/** The rows of a page as objects, by the page's own column names. */
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

/**
 * The held rows with their figures from the new page; no row changes its place.
 */
export function inPlace(held: readonly Row[], fresh: readonly Row[]): Row[] {
  const known = new Map(fresh.map((row) => [row.key, row]));
  return held.map((row) => known.get(row.key) ?? row);
}

/** The rows without a key's second appearance: a flow may move between two pages' reading. */
export function distinct(rows: readonly Row[]): Row[] {
  const seen = new Set<string>();
  return rows.filter((row) => !seen.has(row.key) && seen.add(row.key));
}

/** `10.0.0.1:443`, `[2001:db8::1]:443`, or the bare address where there are no ports. */
export function endpoint(address: string, port: number): string {
  if (port === 0) return address;
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Whether either end looks different from the other side. */
export function isTranslated(flow: Flow): boolean {
  return (
    flow.src !== flow.nat_src ||
    flow.sport !== flow.nat_sport ||
    flow.dst !== flow.nat_dst ||
    flow.dport !== flow.nat_dport
  );
}

/** ICMP carries its id where ports would be: not worth a colon. */
function hasPorts(flow: Flow): boolean {
  return ['tcp', 'udp', 'sctp', 'dccp', 'udplite'].includes(flow.proto);
}

/** One end of a flow: its address before and after NAT, and its network. */
export interface End {
  before: string;
  after: string;
  name: string;
  zone: string;
  vlan: number;
  device: string;
}

/** The initiator and the responder. */
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

/** When an ended flow was over, and the offloaded share of its bytes; null without any. */
export function endOf({ flow, events, offloaded_bytes }: FlowDetail) {
  const bytes = flow.up_bytes + flow.down_bytes;
  return {
    at_ms: events.findLast(({ path }) => path === 'ended')?.at_ms ?? 0,
    share: bytes > 0 ? Math.min(offloaded_bytes, bytes) / bytes : null,
  };
}
