// SPDX-License-Identifier: GPL-2.0-or-later

import { keysOf, translated } from '../i18n/t';
import type { Screen } from '../shell/route.svelte';

export interface Setting {
  screen: Screen;
  /** Parameter `part` of the address. */
  part?: string | undefined;
  label: string;
  /** Heading of the panel, if the label is in a form that may be closed. */
  panel?: string | undefined;
}

type Place = Pick<Setting, 'screen' | 'part'> & {
  /** Catalogue and key of the heading for `panel`. */
  within?: readonly [catalogue: string, heading: string];
  writes?: true;
};

const sections: Record<string, Place> = {
  interface: { screen: 'wan' },
  latency: { screen: 'wan' },
  fastpath: { screen: 'fastpath' },
  ips: { screen: 'protection', part: 'policy' },
  update: { screen: 'protection', part: 'rules', writes: true },
  cpu: { screen: 'cpu' },
  export: { screen: 'export', within: ['export', 'collectors'] },
};

/** Options on another screen than the rest of their section. */
const elsewhere: Record<string, Place> = {
  'fastpath.metrics_hosts': { screen: 'export' },
};

/** Options that no screen shows under this label. */
const hidden = ['interface.device', 'fastpath.hook', 'fastpath.slow_tunnel', 'ips.device'];

/** Panels by screen, with the catalogue of their headings. */
export const panels: readonly (Place & { catalogue: string; headings: readonly string[] })[] = [
  { screen: 'devices', catalogue: 'devices', headings: ['schedules'] },
  { screen: 'wan', catalogue: 'wan', headings: ['state', 'quality', 'lines'] },
  {
    screen: 'network',
    catalogue: 'network',
    headings: [
      ...['iptv', 'pools', 'reservations', 'names', 'resolver', 'encrypted'],
      ...['wifi.width', 'wifi.txpower'],
    ],
  },
  { screen: 'network', catalogue: 'wifi', headings: ['title'] },
  {
    screen: 'fastpath',
    catalogue: 'fastpath',
    headings: ['carried', 'ports', 'exempt', 'budget', 'helpers'],
  },
  { screen: 'fastpath', catalogue: 'fastpath', headings: ['now'], writes: true },
  { screen: 'firewall', catalogue: 'firewall', headings: ['zones', 'forwards'] },
  { screen: 'cpu', catalogue: 'cpu', headings: ['plan', 'options'] },
  { screen: 'export', catalogue: 'export', headings: ['collectors', 'metrics', 'notifications'] },
  { screen: 'health', catalogue: 'health', headings: ['pmtu.title'], writes: true },
  { screen: 'system', catalogue: 'system', headings: ['users', 'backup', 'image', 'more', 'log'] },
  { screen: 'system', catalogue: 'system', headings: ['reboot.title'], writes: true },
  { screen: 'system', catalogue: 'form', headings: ['last'] },
  {
    screen: 'protection',
    catalogue: 'protection',
    headings: ['blocks.title', 'visible.title', 'engine.title', 'cpus.title', 'queues.title'],
  },
  {
    screen: 'protection',
    part: 'policy',
    catalogue: 'protection/setup',
    headings: ['policy.title'],
  },
  {
    screen: 'protection',
    part: 'rules',
    catalogue: 'protection/setup',
    headings: ['sources.title', 'rules.title'],
  },
  {
    screen: 'protection',
    part: 'rules',
    catalogue: 'protection/setup',
    headings: ['schedule.title'],
    writes: true,
  },
  {
    screen: 'topology',
    catalogue: 'i18n',
    headings: ['topology.devices', 'topology.vlans', 'topology.hosts'],
  },
];

export function settings(canWrite: boolean): Setting[] {
  const options = keysOf('form').flatMap((key) => {
    const [type = '', option, more] = key.split('.');
    const place = elsewhere[key] ?? sections[type];
    if (!place || !option || more || hidden.includes(key)) return [];
    const { within, ...at } = place;
    const panel = within && translated(...within);
    return [{ ...at, label: translated('form', key) ?? '', panel }];
  });
  const headings = panels.flatMap(({ catalogue, headings, ...place }) =>
    headings.map((key) => ({ ...place, label: translated(catalogue, key) ?? '' })),
  );
  const shown = [...options, ...headings].filter(({ writes }) => canWrite || !writes);
  return shown.filter(({ label }) => label !== '');
}
