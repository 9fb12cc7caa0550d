// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';

type MessageKey = keyof typeof en;
type Explained<K> = K extends `term.${infer T}.why` ? T : never;

export type Term = Explained<MessageKey>;

export const terms: readonly Term[] = [
  ...(['flow', 'flowtable', 'hardware', 'ebpf', 'conntrack', 'helper', 'budget'] as const),
  ...(['bridge', 'bridging', 'vlan', 'pvid', 'tagged', 'zone', 'port-forward'] as const),
  ...(['masquerade'] as const),
  ...(['pppoe', 'mtu', 'offload', 'gro', 'irq', 'rps', 'softirq', 'nfqueue'] as const),
  ...(['ipfix', 'prometheus'] as const),
];

export const k = translator<MessageKey>('help');

const names: Partial<Record<Term, string>> = {
  flowtable: 'Flowtable',
  hardware: 'Hardware',
  ebpf: 'eBPF',
  vlan: 'VLAN',
  pvid: 'PVID',
  zone: 'Zone',
  pppoe: 'PPPoE',
  mtu: 'MTU',
  gro: 'GRO',
  irq: 'Interrupt',
  rps: 'RPS',
  softirq: 'Softirq',
  nfqueue: 'NFQUEUE',
  ipfix: 'IPFIX',
  prometheus: 'Prometheus',
};

export const nameOf = (term: Term): string => names[term] ?? k(`term.${term}` as MessageKey);
