// SPDX-License-Identifier: GPL-2.0-or-later
/** SSIDs as ports of the matrix of VLANs: names, and how one is put into a VLAN. */

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';
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

/** An SSID is in one VLAN, or in none. */
export function putInto(draft: Draft, point: Section, vlan: Vlan, inside: boolean): void {
  if (vlan.interface) setNetwork(draft, point, inside ? vlan.interface.section : '');
}
