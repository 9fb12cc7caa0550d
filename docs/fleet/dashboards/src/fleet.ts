// SPDX-License-Identifier: GPL-2.0-or-later
/** Dashboard of all gateways: problems and traffic. */

import { CONNTRACK_USE, bits, of, offloadRatio, rate, sumBy } from './metrics.js';
import { board, chart, figure, list, units } from './panels.js';

const attention = {
  title: 'Attention',
  panels: [
    figure('Gateways', [`count(${of('fastpath_build_info')})`, '']),
    figure('WAN interfaces down', [`count(${of('fastpath_wan_up')} == 0) or vector(0)`, ''], {
      limits: [1, 1],
    }),
    figure(
      'Engines not in force',
      [
        `count(${of('fastpath_engine_wanted')} == 1 unless on (instance, engine) ` +
          `${of('fastpath_engine_active')} == 1) or vector(0)`,
        '',
      ],
      { limits: [1, 1] },
    ),
    figure(
      'Inspection not as configured',
      [
        `count(${of('fastpath_ips_state', 'state=~"inline-degraded|failing-.*|rules-rejected"')}` +
          ' == 1) or vector(0)',
        '',
      ],
      { limits: [1, 1] },
    ),
    figure('Findings: errors', [`sum(${of('fastpath_doctor_findings', 'severity="error"')})`, ''], {
      limits: [1, 1],
    }),
    figure('Configurations refused', [`sum(${of('fastpath_configuration_refused')})`, ''], {
      limits: [1, 1],
    }),
  ],
};

const traffic = {
  title: 'Traffic',
  panels: [
    chart('Forwarded, by gateway', [[bits('instance'), '{{instance}}']], {
      unit: 'bps',
      stacked: true,
    }),
    chart('Offloaded share of bytes', [[offloadRatio('instance'), '{{instance}}']], {
      unit: 'percentunit',
      max: 1,
    }),
    chart('Flows, by gateway', [[sumBy('instance', of('fastpath_flows')), '{{instance}}']], {
      stacked: true,
    }),
    chart('Conntrack, share of its limit', [[CONNTRACK_USE, '{{instance}}']], {
      unit: 'percentunit',
      max: 1,
    }),
  ],
};

const gateways = {
  title: 'Gateways',
  panels: [
    units(
      list('Gateways', [
        [sumBy('instance, version', of('fastpath_build_info')), ''],
        [bits('instance'), 'Forwarded'],
        [offloadRatio('instance'), 'Offloaded'],
        [sumBy('instance', of('fastpath_flows')), 'Flows'],
        [sumBy('instance', of('fastpath_wan_up')), 'WANs up'],
        [
          sumBy('instance', `increase(${of('fastpath_wan_reconnects_total')}[1d])`),
          'Reconnects in a day',
        ],
        [
          sumBy('instance', of('fastpath_doctor_findings', 'severity=~"error|warning"')),
          'Findings',
        ],
      ]),
      { Forwarded: 'bps', Offloaded: 'percentunit' },
    ),
    chart(
      'CPU time of the daemon',
      [[sumBy('instance', rate('fastpath_cpu_seconds_total')), '{{instance}}']],
      { unit: 'percentunit', span: 24 },
    ),
  ],
};

export const fleet = board('fastpath-fleet', 'fastpath: all gateways', false, [
  attention,
  traffic,
  gateways,
]);
