// SPDX-License-Identifier: GPL-2.0-or-later
import type { Fastpath } from '../api/fastpath';
import type { Flow } from '../api/types';
import { answerOf } from '../form/change.svelte';
import { t } from '../i18n/t';
import { endpoint } from './rows';

type Tuple = Pick<Flow, 'src' | 'sport' | 'dst' | 'dport'>;

/** Entry of the chip's table, as `fastpath.doctor ppe` answers. */
export interface PpeEntry {
  /** Folder in debugfs. */
  table: string;
  index: number;
  /** The driver's name; `BND`: bound. */
  state: string;
  kind: string;
  direction: 'up' | 'down';
  original: Tuple;
  /** `null` if not bound, or for IPv6, which the chip does not translate. */
  new: Tuple | null;
}

/** Timeout: the doctor serves one caller at a time. */
const ANSWER_MS = 20_000;

export async function entriesOf(api: Pick<Fastpath, 'request'>, flow: Flow): Promise<PpeEntry[]> {
  const { proto, src, sport, dst, dport, nat_src, nat_sport, nat_dst, nat_dport } = flow;
  const args = { proto, src, sport, dst, dport, nat_src, nat_sport, nat_dst, nat_dport };
  const reply = await api.request('fastpath.doctor', 'ppe', args, undefined, ANSWER_MS);
  return (answerOf(reply) as unknown as { entries: PpeEntry[] }).entries;
}

const arrow = ({ src, sport, dst, dport }: Tuple) =>
  `${endpoint(src, sport)} → ${endpoint(dst, dport)}`;

export function factsOf({ table, index, state, kind, original, new: sent }: PpeEntry) {
  // The drivers print the index as %05x.
  const number = index.toString(16).padStart(5, '0');
  const meaning = t(state === 'BND' ? 'flow.ppe.bound' : 'flow.ppe.unbound', { state });
  return [
    { term: t('flow.ppe.entry'), text: `${table} ${number} · ${kind}`, note: meaning },
    { term: t('flow.ppe.received'), text: arrow(original) },
    ...(sent ? [{ term: t('flow.ppe.sent'), text: arrow(sent) }] : []),
  ];
}
