// SPDX-License-Identifier: GPL-2.0-or-later
/** Dashboard of intrusion prevention: state, volume, alerts, blocks, rules. */

import { of, rate, sumBy } from './metrics.js';
import { board, chart, figure, list, states, units } from './panels.js';

const state = {
  title: 'State',
  panels: [
    states('State of inspection', [[`${of('fastpath_ips_state')} == 1`, '{{instance}} {{state}}']]),
    states('Suricata runs', [[of('fastpath_suricata_running'), '{{instance}}']]),
    chart(
      'Inspected and uninspected',
      [[`8 * ${sumBy('kind', rate('fastpath_ips_bytes_total'))}`, '{{kind}}']],
      { unit: 'bps' },
    ),
    chart(
      'Flows whose inspection ended',
      [[sumBy('kind', rate('fastpath_ips_released_flows_total')), '{{kind}}']],
      { unit: 'ops' },
    ),
  ],
};

const queues = {
  title: 'Queues',
  panels: [
    chart('Packets that wait', [[of('fastpath_ips_queue_depth'), '{{instance}} queue {{queue}}']]),
    chart(
      'Packets lost at queues',
      [[rate('fastpath_ips_queue_dropped_packets_total'), '{{instance}} queue {{queue}}']],
      { unit: 'pps' },
    ),
    chart(
      'Verdicts',
      [[sumBy('verdict', rate('fastpath_ips_verdict_packets_total')), '{{verdict}}']],
      { unit: 'pps' },
    ),
    chart('Restarts of Suricata', [
      [`increase(${of('fastpath_suricata_restarts_total')}[1h])`, '{{instance}}'],
    ]),
  ],
};

const alerts = {
  title: 'Alerts',
  panels: [
    chart(
      'Alerts, by severity',
      [[sumBy('severity', rate('fastpath_alerts_total')), 'severity {{severity}}']],
      { unit: 'ops', stacked: true },
    ),
    chart('Alerts, by action', [[sumBy('action', rate('fastpath_alerts_total')), '{{action}}']], {
      unit: 'ops',
      stacked: true,
    }),
    chart(
      'Alerts that were counted but not read',
      [[sumBy('instance', rate('fastpath_alerts_unread_total')), '{{instance}}']],
      { unit: 'ops' },
    ),
    chart('Blocked sources', [[of('fastpath_blocked_sources'), '{{instance}}']]),
    chart(
      'Packets of blocked sources',
      [[rate('fastpath_blocked_packets_total'), '{{instance}}']],
      { unit: 'pps', span: 24 },
    ),
  ],
};

/** Excludes gateways without inspection, which do not update rules. */
const whereOn = (expression: string): string =>
  `${expression} unless on (instance) ${of('fastpath_ips_state', 'state="off"')} == 1`;

const rules = {
  title: 'Rules',
  panels: [
    figure(
      'Gateways with failed updates',
      [`sum(${whereOn(of('fastpath_rules_state', 'state="failed"'))}) or vector(0)`, ''],
      { span: 8, limits: [1, 1] },
    ),
    figure('Rules that Suricata refused', [`sum(${of('fastpath_rules', 'state="failed"')})`, ''], {
      span: 8,
      limits: [1, 1],
    }),
    figure(
      'Oldest sources, since they were reached',
      [`time() - min(${whereOn(of('fastpath_rules_checked_timestamp_seconds'))})`, ''],
      { span: 8, unit: 's', limits: [2 * 86_400, 3 * 86_400] },
    ),
    units(
      list('Rules', [
        [sumBy('instance', of('fastpath_rules', 'state="loaded"')), 'Loaded'],
        [sumBy('instance', of('fastpath_rules', 'state="failed"')), 'Refused'],
        [`1000 * ${sumBy('instance', of('fastpath_rules_updated_timestamp_seconds'))}`, 'Rules of'],
        [
          `1000 * ${sumBy('instance', of('fastpath_rules_checked_timestamp_seconds'))}`,
          'Sources reached',
        ],
      ]),
      { 'Rules of': 'dateTimeAsLocal', 'Sources reached': 'dateTimeAsLocal' },
    ),
  ],
};

export const protection = board('fastpath-protection', 'fastpath: protection', false, [
  state,
  queues,
  alerts,
  rules,
]);
