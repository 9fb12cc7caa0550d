// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { text, type Value } from '../form/sections';
import { bridgesOf, type Bridge } from './matrix';

/** Matches a VLAN device: `lan1.20` is VLAN 20 of port lan1. */
const tagged = (port: string) => /^(.+)\.(\d+)$/.exec(port);

/** Returns the bridges of VLAN devices, which one VLAN-aware bridge could replace. */
export function perVlanBridges(draft: Draft): Bridge[] {
  const aware = new Set(draft.all('network', 'bridge-vlan').map((each) => text(each, 'device')));
  const plain = bridgesOf(draft).filter((each) => !aware.has(each.name));
  return plain.some((each) => each.ports.some(tagged)) ? plain : [];
}

/**
 * Merges all bridges into the first one, which becomes VLAN-aware. A bridge without a VLAN id gets
 * the first free one.
 */
export function migrate(draft: Draft): void {
  const old = perVlanBridges(draft);
  const [first] = old;
  if (!first) return;
  const numberOf = ({ ports }: Bridge) => ports.map((port) => tagged(port)?.[2]).find(Boolean);
  const taken = new Set(old.map(numberOf));
  const ports = new Set<string>();
  for (const bridge of old) {
    let vid = numberOf(bridge);
    for (let free = 1; vid === undefined; free++) {
      if (!taken.has(String(free))) taken.add((vid = String(free)));
    }
    const entries = bridge.ports.map((port) => {
      const [, base = port] = tagged(port) ?? [];
      ports.add(base);
      return base === port ? `${port}:u*` : `${base}:t`;
    });
    draft.add('network', 'bridge-vlan', { device: first.name, vlan: vid, ports: entries });
    for (const each of draft.all('network', 'interface')) {
      if (text(each, 'device') !== bridge.name) continue;
      draft.set('network', each.section, { device: `${first.name}.${vid}` });
    }
  }
  draft.set('network', first.section.section, { ports: [...ports] satisfies Value });
  const gone = new Set(old.slice(1).map((each) => each.section.section));
  // The sections of the VLAN devices are obsolete, too.
  const members = new Set(old.flatMap((each) => each.ports).filter(tagged));
  for (const each of draft.all('network', 'device')) {
    if (members.has(text(each, 'name'))) gone.add(each.section);
  }
  draft.remove('network', ...gone);
}
