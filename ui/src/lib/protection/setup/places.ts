// SPDX-License-Identifier: GPL-2.0-or-later
/** Source or destination of a policy: a zone and a VLAN as one choice. */

import type { IpsPolicy, Topology } from '../../api/types';

/** A zone and a VLAN; empty values match any. */
export interface Place {
  zone: string;
  vlan: string;
}

/** Encodes a place as a choice's value: the first `/` ends the VLAN; a zone may contain more. */
export const keyOf = ({ zone, vlan }: Place): string => `${vlan}/${zone}`;

export function placeOf(key: string): Place {
  const at = key.indexOf('/');
  return { zone: key.slice(at + 1), vlan: key.slice(0, at) };
}

/** Returns the VLAN tags of a device, of devices below it, and of a bridge's ports. */
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

/** Returns the VLANs of each zone in ascending order, from the zone's interfaces. */
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
 * Returns the places to choose from: any, each zone alone and with each of its VLANs, VLANs without
 * a zone, and the present place, whether or not it exists.
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
