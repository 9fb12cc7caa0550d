// SPDX-License-Identifier: GPL-2.0-or-later

import type { FlowFilter, FlowsQuery, Path, Reason } from '../api/types';
import { isLocal, isPath, paths, type Aside } from '../path/path';

export type Group = NonNullable<FlowsQuery['group']>;

export interface View {
  text: string;
  path: Path[];
  proto: string;
  vlan: number;
  host: string;
  reason: Reason | '';
  group: Group;
  sort: string;
  desc: boolean;
  nat: boolean;
  local: boolean;
  ended: boolean;
  /** Period in which flows had traffic, Unix ms; 0 without a limit. */
  from: number;
  to: number;
  /** Id of the flow in the panel; 0 if the panel is closed. */
  flow: number;
}

export type Change = (next: Partial<View>) => void;

const DEFAULT_SORT = 'bps';
const groups: readonly Group[] = ['', 'host', 'service', 'vlan', 'path'];

export function readView(params: URLSearchParams): View {
  const word = (name: string) => params.get(name) ?? '';
  const number = (name: string) => Math.max(0, Number.parseInt(word(name), 10) || 0);
  return {
    text: word('text').slice(0, 200),
    path: word('path').split(',').filter(isPath),
    proto: word('proto'),
    vlan: number('vlan'),
    host: word('host'),
    reason: word('reason') as Reason,
    group: groups.find((each) => each === word('group')) ?? '',
    sort: word('sort') || DEFAULT_SORT,
    desc: word('dir') !== 'asc',
    nat: word('nat') === '1',
    local: word('local') === '1',
    ended: word('ended') === '1',
    from: number('from'),
    to: number('to'),
    flow: number('flow'),
  };
}

export function writeView(view: View): URLSearchParams {
  const { text, proto, vlan, host, reason, group, desc, from, to, flow } = view;
  const path = view.path.join(',');
  const [sort, dir] = [view.sort === DEFAULT_SORT ? '' : view.sort, desc ? '' : 'asc'];
  const [nat, local, ended] = [view.nat, view.local, view.ended].map(Number);
  const filters = { text, path, proto, vlan, host, reason, group, sort, dir };
  const all = { ...filters, nat, local, ended, from, to, flow };
  const given = Object.entries(all).filter(([, value]) => value !== '' && value !== 0);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

export function hides(view: View): Record<Aside, boolean> {
  return {
    local: !view.local && !isLocal(view.reason),
    ended: !view.ended && !view.path.includes('ended'),
  };
}

/** Returns the daemon's query for a view, without the range of rows. */
export function queryOf(view: View): FlowsQuery {
  const filter = filterOf(view);
  const { local, ended } = hides(view);
  if (local) filter.forwarded = true;
  if (ended) filter.path ??= [...paths];
  else if (view.ended && filter.path)
    filter.path = [...new Set([...filter.path, 'ended' as const])];
  return { filter, sort: view.sort, desc: view.desc, group: view.group };
}

function filterOf(view: View): FlowFilter {
  const filter: FlowFilter = {};
  const text = view.text.trim();
  if (text) filter.text = text;
  if (view.path.length > 0) filter.path = view.path;
  if (view.proto) filter.proto = [view.proto];
  if (view.vlan) filter.vlan = view.vlan;
  if (view.host) filter.host = view.host;
  if (view.reason) filter.reason = [view.reason];
  if (view.from) filter.from_ms = view.from;
  if (view.to) filter.to_ms = view.to;
  return filter;
}

export function isFiltered(view: View): boolean {
  return Object.keys(filterOf(view)).length > 0;
}

/** Returns how many of `total` flows are shown without filters. */
export function amongAll(view: View, total: number, left: Record<Aside, number>): number {
  const hidden = hides(view);
  const out = (hidden.local ? left.local : 0) + (hidden.ended ? left.ended : 0);
  return Math.max(0, total - out);
}

export function unfiltered(view: View): View {
  const none = { text: '', proto: '', vlan: 0, host: '', reason: '', from: 0, to: 0 } as const;
  return { ...view, ...none, path: [] };
}

export function intoGroup(view: View, key: string): View {
  const flat: View = { ...view, group: '', sort: DEFAULT_SORT, desc: true };
  switch (view.group) {
    case 'host':
      return { ...flat, host: key };
    case 'vlan':
      return { ...flat, vlan: Number.parseInt(key, 10) || 0 };
    case 'path':
      return isPath(key) ? { ...flat, path: [key] } : flat;
    case 'service': {
      const [proto = '', port = ''] = key.split('/');
      return { ...flat, proto, text: `${view.text} ${port}`.trim() };
    }
    default:
      return view;
  }
}

/** Returns the view after a click on a column header: numbers descending, text ascending. */
export function sortedBy(view: View, column: string, numeric: boolean): View {
  if (view.sort === column) return { ...view, desc: !view.desc };
  return { ...view, sort: column, desc: numeric };
}
