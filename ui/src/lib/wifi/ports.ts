// SPDX-License-Identifier: GPL-2.0-or-later
/** SSIDs as ports of the matrix of VLANs: names, and how one is put into a VLAN. */

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';
import { forget, recall, remember } from '../network/left';
import type { Vlan } from '../network/matrix';
import { bandOf, pointsOf, setNetwork } from './wifi';
import { w } from './messages';

/** SSIDs as ports of the matrix, in the order of the file. */
export const points = pointsOf;

/** The SSID; with its band where two radios have the same one. */
export function nameOf(draft: Draft, point: Section): string {
  const ssid = text(point, 'ssid');
  const same = pointsOf(draft).filter((each) => text(each, 'ssid') === ssid);
  if (same.length < 2) return ssid;
  return w('at', { ssid, band: w(`band.${bandOf(draft, point) as '2g'}`) });
}

/** Whether an SSID is in a VLAN: netifd puts it there by the router's interface in that VLAN. */
export const pointIn = (point: Section, vlan: Vlan): boolean =>
  vlan.interface !== undefined && list(point, 'network').includes(vlan.interface.section);

const cellOf = (point: Section, vlan: Vlan) => [point.section, vlan.vid];

/** The networks that an SSID leaves by its choice of this VLAN; none once the router has it so. */
export function networksLeft(draft: Draft, point: Section, vlan: Vlan): string[] {
  const before = draft.original('wireless', point.section);
  const applied = before !== undefined && pointIn(before, vlan);
  if (applied || !pointIn(point, vlan)) return [];
  return recall<string[]>(draft, cellOf(point, vlan)) ?? [];
}

/** Puts an SSID into a VLAN, its only one; taken out, it returns to its former one. */
export function putInto(draft: Draft, point: Section, vlan: Vlan, inside: boolean): void {
  if (!vlan.interface || inside === pointIn(point, vlan)) return;
  const left = inside ? list(point, 'network') : networksLeft(draft, point, vlan);
  setNetwork(draft, point, inside ? vlan.interface.section : left.join(' '));
  if (inside) remember(draft, cellOf(point, vlan), left);
  else forget(draft, cellOf(point, vlan));
}
