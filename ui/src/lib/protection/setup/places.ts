// SPDX-License-Identifier: GPL-2.0-or-later

import type { IpsPolicy, Topology } from '../../api/types';

/** Source or destination of a policy. Empty values match any zone or VLAN. */
export interface Place {
  zone: string;
  vlan: string;
}

/** Encodes a place as the value of a choice: VLAN, `/` and zone, which may itself contain `/`. */
export const keyOf = ({ zone, vlan }: Place): string => `${vlan}/${zone}`;

export function placeOf(key: string): Place {
  const at = key.indexOf('/');
  return { zone: key.slice(at + 1), vlan: key.slice(0, at) };
}

/** Returns the VLAN ids of a device, of the devices below it, and of the ports of a bridge. */
function tagsOf(topology: Topology, device: string): number[] {
  const link = topology.links.find(({ name }) => name === device);
  const session = topology.pppoe.find((each) => each.device === device);
  const lower = session?.lower ?? '';
  const ports = topology.links.filter(({ master }) => master === device);
  return [
    ...[link, ...ports].flatMap((each) => (each && each.vlan > 0 ? [each.vlan] : [])),
    ...(lower === '' || lower === device ? [] : tagsOf(topology, lower)),
  ];
}

export function vlansByZone(topology: Topology | null): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, Set<number>>();
  for (const { zone, device } of topology?.interfaces ?? []) {
    if (!topology || zone === '') continue;
    const known = found.get(zone) ?? new Set();
    for (const tag of tagsOf(topology, device)) known.add(tag);
    found.set(zone, known);
  }
  return new Map([...found].map(([zone, tags]) => [zone, [...tags].sort((a, b) => a - b)]));
}

/**
 * Returns the choices: any, each zone alone and with each of its VLANs, VLANs without a zone, and
 * the current place even if it does not exist.
 */
export function offered(
  { zones, vlans }: Pick<IpsPolicy, 'zones' | 'vlans'>,
  byZone: ReadonlyMap<string, readonly number[]>,
  now: Place,
): Place[] {
  const within = (zone: string) => (byZone.get(zone) ?? []).filter((tag) => vlans.includes(tag));
  const inZone = new Set(zones.flatMap(within));
  const places = [
    { zone: '', vlan: '' },
    ...zones.flatMap((zone) => [
      { zone, vlan: '' },
      ...within(zone).map((tag) => ({ zone, vlan: String(tag) })),
    ]),
    ...vlans.filter((tag) => !inZone.has(tag)).map((tag) => ({ zone: '', vlan: String(tag) })),
  ];
  return places.some((each) => keyOf(each) === keyOf(now)) ? places : [...places, now];
}
