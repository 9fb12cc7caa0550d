// SPDX-License-Identifier: GPL-2.0-or-later
/** Dashboard of one gateway: forwarding, WAN, conntrack, the eBPF engine, findings. */

import { CONNTRACK_USE, EBPF_USE, bits, of, offloadRatio, rate, sumBy } from './metrics.js';
import { board, chart, figure, states } from './panels.js';

const now = {
  title: 'Now',
  panels: [
    figure('Engine in force', [`${of('fastpath_engine_active')} == 1`, '{{engine}}'], {
      named: true,
    }),
    figure('Offloaded share', [offloadRatio('instance'), ''], { unit: 'percentunit' }),
    figure('Forwarded', [bits('instance'), ''], { unit: 'bps' }),
    figure('Flows', [sumBy('instance', of('fastpath_flows')), '']),
    figure('Conntrack, share of its limit', [CONNTRACK_USE, ''], {
      unit: 'percentunit',
      limits: [0.8, 0.95],
    }),
    figure('Running since', [`1000 * ${of('fastpath_start_time_seconds')}`, ''], {
      unit: 'dateTimeAsLocal',
    }),
  ],
};

const forwarding = {
  title: 'Forwarding',
  panels: [
    chart('Forwarded, by path', [[bits('path'), '{{path}}']], { unit: 'bps', stacked: true }),
    chart(
      'Packets, by path',
      [[sumBy('path', rate('fastpath_forwarded_packets_total')), '{{path}}']],
      { unit: 'pps', stacked: true },
    ),
    chart('Flows, by path', [[sumBy('path', of('fastpath_flows')), '{{path}}']], {
      stacked: true,
    }),
    chart(
      'Flows that are not on the best path, by reason',
      [[`${of('fastpath_flow_reasons')} > 0`, '{{reason}}']],
      { stacked: true },
    ),
  ],
};

const wan = {
  title: 'WAN',
  panels: [
    states('WAN up', [[of('fastpath_wan_up'), '{{interface}}']]),
    chart('Reconnects', [
      [`increase(${of('fastpath_wan_reconnects_total')}[$__rate_interval])`, '{{interface}}'],
    ]),
  ],
};

const conntrack = {
  title: 'Conntrack',
  panels: [
    chart('Connections', [
      [of('fastpath_conntrack_entries'), 'connections'],
      [of('fastpath_conntrack_entries_limit'), 'limit'],
    ]),
    chart(
      'Refused connections, lost events',
      [
        [rate('fastpath_conntrack_refused_total'), 'refused'],
        [rate('fastpath_conntrack_resyncs_total'), 'read again because events were lost'],
      ],
      { unit: 'ops' },
    ),
    chart(
      'Cost of reading conntrack',
      [[rate('fastpath_conntrack_dump_cpu_seconds_total'), 'CPU']],
      { unit: 'percentunit' },
    ),
    chart(
      'Time between two readings',
      [[of('fastpath_conntrack_dump_interval_seconds'), 'interval']],
      { unit: 's' },
    ),
  ],
};

const ebpf = {
  title: 'eBPF',
  panels: [
    chart('Share of both tables (IPv4 and IPv6) in use', [[EBPF_USE, 'in use']], {
      unit: 'percentunit',
      max: 1,
      description:
        'Each of the two tables has its own limit, and the metrics count both together: at 50 % ' +
        'one of them may be full. Connections are evicted from a full table.',
    }),
    chart('Evicted connections', [[rate('fastpath_ebpf_evicted_flows_total'), 'evicted']], {
      unit: 'ops',
    }),
    chart(
      'Packets by verdict',
      [[sumBy('exit', rate('fastpath_ebpf_packets_total')), '{{exit}}']],
      { unit: 'pps', span: 24 },
    ),
  ],
};

const health = {
  title: 'Health',
  panels: [
    chart('Conditions', [[of('fastpath_health_conditions'), '{{level}}']], { stacked: true }),
    chart(
      'Findings',
      [[of('fastpath_doctor_findings', 'severity=~"error|warning|advice"'), '{{severity}}']],
      { stacked: true },
    ),
    chart('CPU time of the daemon', [[rate('fastpath_cpu_seconds_total'), 'CPU']], {
      unit: 'percentunit',
    }),
    chart('Differences from the CPU plan', [[of('fastpath_cpu_plan_deviations'), 'differences']]),
  ],
};

export const gateway = board('fastpath-gateway', 'fastpath: one gateway', true, [
  now,
  forwarding,
  wan,
  conntrack,
  ebpf,
  health,
]);
