// SPDX-License-Identifier: GPL-2.0-or-later
/** Edits of configuration files for a device, as parts of the draft. */

import type { Topology } from '../api/types';
import { zonesOf } from '../firewall/zones';
import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';
import type { Device } from './devices';

type Sections = Pick<Draft, 'all' | 'get' | 'set' | 'add'>;

/** Returns the DHCP reservation of a MAC; dnsmasq accepts several MACs in one section. */
export const reservationOf = (draft: Sections, mac: string): Section | undefined =>
  draft
    .all('dhcp', 'host')
    .find((each) => list(each, 'mac').some((one) => one.toLowerCase() === mac));

export const reservedAddress = (draft: Sections, mac: string): string =>
  text(reservationOf(draft, mac), 'ip');

/** Returns the name as a DNS label; empty if nothing of it can be one. */
export const labelOf = (name: string): string =>
  name
    .normalize('NFD')
    .replaceAll(/[\p{M}'’]/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');

export function reserve(draft: Sections, { mac, name }: Device, ip: string): void {
  const known = reservationOf(draft, mac);
  if (known) draft.set('dhcp', known.section, { ip });
  else draft.add('dhcp', 'host', { name: labelOf(name), mac, ip });
}

/** Returns the zone of the network that the device is in; empty if it is unknown. */
export const zoneOf = (topology: Topology | null, { device }: Pick<Device, 'device'>): string =>
  topology?.interfaces.find((each) => each.device === device && each.zone !== '')?.zone ?? '';

/** Returns the network that the device is in; empty if it is unknown. */
export const networkOf = (topology: Topology | null, { device }: Pick<Device, 'device'>): string =>
  topology?.interfaces.find((each) => each.device === device)?.name ?? '';

/** Adds a port forward without ports, which its form asks for; returns its section. */
export function forward(draft: Sections, name: string, ip: string, zone: string): string {
  const src = zonesOf(draft).find(({ masq }) => masq)?.name ?? 'wan';
  const values = { name, target: 'DNAT', proto: 'tcp', src, dest: zone || 'lan', dest_ip: ip };
  return draft.add('firewall', 'redirect', values);
}
