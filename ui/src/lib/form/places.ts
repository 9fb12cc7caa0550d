// SPDX-License-Identifier: GPL-2.0-or-later

import { t } from '../i18n/t';
import { addressOf, type Place, type Screen } from '../shell/route.svelte';
import type { Problem } from './change.svelte';
import { f, maybe } from './messages';
import { text, type Section } from './sections';

type Shown = readonly [screen: Screen, part?: string];

const byType: Readonly<Record<string, Shown>> = {
  interface: ['wan'],
  latency: ['wan'],
  device: ['network'],
  'bridge-vlan': ['network'],
  fastpath: ['fastpath'],
  exclude: ['fastpath'],
  port: ['fastpath'],
  ips: ['protection', 'policy'],
  policy: ['protection', 'policy'],
  rules: ['protection', 'rules'],
  update: ['protection', 'rules'],
  cpu: ['cpu'],
  export: ['export'],
  notification: ['export'],
  schedule: ['devices'],
};

/** Screens by section type and option, if they differ from `byType`. */
const byOption: Readonly<Record<string, Shown>> = {
  'fastpath.metrics_hosts': ['export'],
};

/** Screens of other sections, by file. */
const byFile: Readonly<Record<string, Shown>> = {
  network: ['network'],
  wireless: ['network'],
  dhcp: ['network'],
  firewall: ['firewall'],
  fastpath: ['fastpath'],
  rpcd: ['system'],
};

export interface Spot {
  /** Text such as "Network › VLAN 20 · Ports", without the screen if it is in view. */
  words: string;
  /** Address of the screen; empty if it is in view or if no screen shows the option. */
  href: string;
}

/** Returns the place of a problem. `section` is `undefined` if its file was not loaded. */
export function spotOf(
  { config, section: name, option }: Problem,
  section: Section | undefined,
  now: Place,
): Spot {
  const type = section?.type ?? '';
  const [screen, part] = byOption[`${type}.${option}`] ?? byType[type] ?? byFile[config] ?? [];
  const here = now.screen === screen && (part === undefined || now.params.get('part') === part);
  const label = maybe(`${config}.${type}.${option}`) || maybe(`${type}.${option}`) || option;
  const words = [named(config, name, section), label].filter(Boolean).join(' · ');
  if (screen === undefined || here) return { words, href: '' };
  const params = part === undefined ? undefined : new URLSearchParams({ part });
  return {
    words: f('problem.place', { screen: t(`nav.${screen}`), place: words }),
    href: addressOf(screen, params),
  };
}

/** Returns the type of a section as a noun, and its name, such as "VLAN 20". */
function named(config: string, name: string, section: Section | undefined): string {
  if (!section) return [f('diff.file', { config }), name].filter(Boolean).join(' · ');
  const { type, anonymous } = section;
  const given = type === 'bridge-vlan' ? text(section, 'vlan') : text(section, 'name');
  const own = given || (anonymous || name === type ? '' : name);
  const noun = maybe(`type.${config}.${type}`) || maybe(`type.${type}`) || type;
  return own === noun ? noun : `${noun} ${own}`.trim();
}
