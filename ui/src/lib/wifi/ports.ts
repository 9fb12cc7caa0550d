// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';
import { forget, recall, remember } from '../network/left';
import type { Vlan } from '../network/matrix';
import { bandOf, pointsOf, setNetwork } from './wifi';
import { w } from './messages';

/** SSIDs in file order, shown like ports in the VLAN matrix. */
export const points = pointsOf;

/** Returns the SSID, with its band if several radios share it. */
export function nameOf(draft: Draft, point: Section): string {
  const ssid = text(point, 'ssid');
  const same = pointsOf(draft).filter((each) => text(each, 'ssid') === ssid);
  if (same.length < 2) return ssid;
  return w('at', { ssid, band: w(`band.${bandOf(draft, point) as '2g'}`) });
}

/** Reports whether an SSID is in a VLAN: its network is the router's interface there. */
export const pointIn = (point: Section, vlan: Vlan): boolean =>
  vlan.interface !== undefined && list(point, 'network').includes(vlan.interface.section);

const cellOf = (point: Section, vlan: Vlan) => [point.section, vlan.vid];

/**
 * Returns the networks that an SSID leaves for this VLAN; empty once the router has applied that.
 */
export function networksLeft(draft: Draft, point: Section, vlan: Vlan): string[] {
  const before = draft.original('wireless', point.section);
  const applied = before !== undefined && pointIn(before, vlan);
  if (applied || !pointIn(point, vlan)) return [];
  return recall<string[]>(draft, cellOf(point, vlan)) ?? [];
}

/** Puts an SSID into a VLAN as its only one; leaving it restores the previous one. */
export function putInto(draft: Draft, point: Section, vlan: Vlan, inside: boolean): void {
  if (!vlan.interface || inside === pointIn(point, vlan)) return;
  const left = inside ? list(point, 'network') : networksLeft(draft, point, vlan);
  setNetwork(draft, point, inside ? vlan.interface.section : left.join(' '));
  if (inside) remember(draft, cellOf(point, vlan), left);
  else forget(draft, cellOf(point, vlan));
}
