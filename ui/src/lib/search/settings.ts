// SPDX-License-Identifier: GPL-2.0-or-later
/** The settings that the search finds: options by their labels, and panels by their headings. */

import { keysOf, translated } from '../i18n/t';
import type { Screen } from '../shell/route.svelte';

/** A label or heading on a screen. */
export interface Setting {
  screen: Screen;
  /** The part of the screen, as in its address. */
  part?: string | undefined;
  /** The label or the heading, as it is on the screen. */
  label: string;
  /** The heading of the panel, where the label is in a form that is not always open. */
  panel?: string | undefined;
}

type Place = Pick<Setting, 'screen' | 'part'> & {
  /** Catalogue and key of that heading. */
  within?: readonly [catalogue: string, heading: string];
  /** Shown to accounts that may write. */
  writes?: true;
};

/** Sections of the configuration that are on a screen, with all their options. */
const sections: Record<string, Place> = {
  interface: { screen: 'wan' },
  latency: { screen: 'wan' },
  fastpath: { screen: 'fastpath' },
  ips: { screen: 'protection', part: 'policy' },
  update: { screen: 'protection', part: 'rules', writes: true },
  cpu: { screen: 'cpu' },
  export: { screen: 'export', within: ['export', 'collectors'] },
};

/** Options on another screen than the others of their section. */
const elsewhere: Record<string, Place> = {
  'fastpath.metrics_hosts': { screen: 'export' },
};

/** Options that no screen shows by this label. */
const hidden = ['interface.device', 'fastpath.hook', 'ips.device'];

/** Panels by the screen and the part of the catalogue with their headings. */
export const panels: readonly (Place & { catalogue: string; headings: readonly string[] })[] = [
  { screen: 'wan', catalogue: 'wan', headings: ['state'] },
  { screen: 'network', catalogue: 'wifi', headings: ['title'] },
  {
    screen: 'fastpath',
    catalogue: 'fastpath',
    headings: ['carried', 'ports', 'exempt', 'budget', 'helpers'],
  },
  { screen: 'fastpath', catalogue: 'fastpath', headings: ['now'], writes: true },
  { screen: 'firewall', catalogue: 'firewall', headings: ['zones', 'forwards'] },
  { screen: 'cpu', catalogue: 'cpu', headings: ['plan', 'options'] },
  { screen: 'export', catalogue: 'export', headings: ['collectors', 'metrics'] },
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

/** All that the account is shown, in the language in use. */
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
