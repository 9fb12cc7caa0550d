// SPDX-License-Identifier: GPL-2.0-or-later
/** Dashboard of flows: traffic by zones and hosts, reasons of the slow path. */

import { OFFLOADED, bits, of, rate, sumBy } from './metrics.js';
import { board, chart, list, units } from './panels.js';

/** Bytes by host; `other` is the sum of hosts without their own series. */
const hostBytes = (direction = ''): string =>
  of('fastpath_host_bytes_total', `host!="other"${direction && `,direction="${direction}"`}`);
const ofDay = (direction = ''): string =>
  sumBy('instance, host', `increase(${hostBytes(direction)}[1d])`);
const hostRate = rate('fastpath_host_bytes_total', 'host!="other"');
const hostBits = `8 * ${sumBy('instance, host', hostRate)}`;
/** Limits an expression to the 50 hosts with the most bytes of a day. */
const busiest = (expression: string): string =>
  `${expression} and on (instance, host) topk(50, ${ofDay()})`;
const hostInfo = sumBy('instance, host, name', of('fastpath_host_info'));

const zones = {
  title: 'Zones',
  panels: [
    chart(
      'Forwarded, by zones of initiator and responder',
      [[bits('in_zone, out_zone'), '{{in_zone}} → {{out_zone}}']],
      { unit: 'bps', stacked: true },
    ),
    chart('Forwarded, by direction', [[bits('direction'), '{{direction}}']], { unit: 'bps' }),
    chart(
      'Offloaded, by zones',
      [[bits('in_zone, out_zone', OFFLOADED), '{{in_zone}} → {{out_zone}}']],
      { unit: 'bps', stacked: true },
    ),
    chart(
      'On the slow path and inspected, by zones',
      [[bits('in_zone, out_zone', 'path=~"slow|inspect"'), '{{in_zone}} → {{out_zone}}']],
      { unit: 'bps', stacked: true },
    ),
  ],
};

const hosts = {
  title: 'Hosts',
  panels: [
    chart('Busiest hosts', [[`topk(20, ${hostBits})`, '{{instance}} {{host}}']], {
      unit: 'bps',
      stacked: true,
      span: 24,
      height: 12,
    }),
    units(
      list(
        'Busiest hosts of a day',
        [
          [busiest(hostInfo), ''],
          [busiest(ofDay()), 'Total'],
          [busiest(ofDay('down')), 'Received'],
          [busiest(ofDay('up')), 'Sent'],
        ],
        'Total',
      ),
      { Total: 'bytes', Received: 'bytes', Sent: 'bytes' },
    ),
  ],
};

const reasons = {
  title: 'Flows',
  panels: [
    chart('Flows, by path', [[sumBy('path', of('fastpath_flows')), '{{path}}']], {
      stacked: true,
    }),
    chart(
      'Flows that are not on the best path, by reason',
      [[`${sumBy('reason', of('fastpath_flow_reasons'))} > 0`, '{{reason}}']],
      { stacked: true },
    ),
    chart('Local flows', [[of('fastpath_local_flows'), '{{instance}}']]),
    chart('Connections without a place in the flow table', [
      [of('fastpath_flows_unlisted'), '{{instance}}'],
    ]),
  ],
};

export const flows = board('fastpath-flows', 'fastpath: flows', false, [zones, hosts, reasons]);
