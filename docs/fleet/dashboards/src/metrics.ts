// SPDX-License-Identifier: GPL-2.0-or-later
/** Expressions shared by several panels. The variable `gateway` selects gateways by `instance`. */

/** Series of a metric for the selected gateways, with further matchers. */
export const of = (name: string, matchers = ''): string =>
  `${name}{instance=~"$gateway"${matchers === '' ? '' : `,${matchers}`}}`;

export const rate = (name: string, matchers = ''): string =>
  `rate(${of(name, matchers)}[$__rate_interval])`;

export const sumBy = (labels: string, expression: string): string =>
  `sum by (${labels}) (${expression})`;

export const OFFLOADED = 'path=~"flowtable|hardware|ebpf"';

/** Forwarded bits per second by LABELS. */
export const bits = (labels: string, matchers = ''): string =>
  `8 * ${sumBy(labels, rate('fastpath_forwarded_bytes_total', matchers))}`;

/** Offloaded share of the forwarded bytes, 0 to 1; no value without traffic. */
export const offloadRatio = (labels: string): string => {
  const all = sumBy(labels, rate('fastpath_forwarded_bytes_total'));
  return `${sumBy(labels, rate('fastpath_forwarded_bytes_total', OFFLOADED))} / (${all} > 0)`;
};

/** Share of conntrack's entries in use. */
export const CONNTRACK_USE =
  `${of('fastpath_conntrack_entries')} / ` + `(${of('fastpath_conntrack_entries_limit')} > 0)`;

/** Share of the eBPF engine's entries in use, IPv4 and IPv6 together. */
export const EBPF_USE =
  `${of('fastpath_ebpf_flows')} / ` + `(2 * ${of('fastpath_ebpf_flows_limit')} > 0)`;
