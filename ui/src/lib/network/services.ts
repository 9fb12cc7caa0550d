// SPDX-License-Identifier: GPL-2.0-or-later
/** DHCP pools, reservations and local names of `/etc/config/dhcp`. */

import type { Draft } from '../form/draft.svelte';
import { addressesOf } from '../form/addresses';
import { isOn, list, text, type Section } from '../form/sections';

/** A network of the router that can have a DHCP server. */
export interface Served {
  name: string;
  /** The router's IPv4 address with prefix length; empty without one. */
  address: string;
  pool: Section | undefined;
}

/** Defaults of OpenWrt's dnsmasq. */
export const pool4 = { start: '100', limit: '150', leasetime: '12h' };
/** Router advertisements, with additional addresses by DHCPv6. */
export const pool6 = {
  ra: 'server',
  dhcpv6: 'server',
  ra_flags: ['managed-config', 'other-config'],
};

export function servedOf(draft: Draft): Served[] {
  const pools = draft.all('dhcp', 'dhcp');
  const outside = draft
    .all('firewall', 'zone')
    .filter((zone) => isOn(zone, 'masq'))
    .flatMap((zone) => list(zone, 'network'));
  return draft
    .all('network', 'interface')
    .filter((each) => text(each, 'proto') === 'static' && text(each, 'device') !== 'lo')
    .filter((each) => !outside.includes(each.section))
    .map((each) => ({
      name: each.section,
      address: addressesOf(each)[0] ?? '',
      pool: pools.find((pool) => text(pool, 'interface', pool.section) === each.section),
    }));
}

export const servesIpv4 = (pool: Section | undefined): boolean =>
  pool !== undefined && !isOn(pool, 'ignore') && text(pool, 'dhcpv4') !== 'disabled';

export const servesIpv6 = (pool: Section | undefined): boolean =>
  ['ra', 'dhcpv6'].some((option) => !['', 'disabled'].includes(text(pool, option)));

const bits = (address: string) =>
  address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const dotted = (number: number) =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');

/**
 * Returns the first and last address of a pool, as OpenWrt's ipcalc.sh computes them; `undefined`
 * if the pool is not a range of numbers inside the network.
 */
export function rangeOf(address: string, pool: Section | undefined): [string, string] | undefined {
  const [host = '', length = ''] = address.split('/', 2);
  const start = text(pool, 'start', pool4.start);
  const limit = text(pool, 'limit', pool4.limit);
  if (!/^[\d.]+$/.test(host) || ![start, limit].every((each) => /^\d+$/.test(each))) return;
  const size = 2 ** (32 - Number(length));
  const network = Math.floor(bits(host) / size) * size;
  const first = network + Number(start);
  const last = Math.min(first + Number(limit) - 1, network + size - 2);
  return first > network && first <= last ? [dotted(first), dotted(last)] : undefined;
}

export function addPool(draft: Draft, { name }: Served): void {
  draft.add('dhcp', 'dhcp', { interface: name, ...pool4, ...pool6 }, name);
}

export const reservationsOf = (draft: Draft): readonly Section[] => draft.all('dhcp', 'host');
export const namesOf = (draft: Draft): readonly Section[] => draft.all('dhcp', 'domain');
/** The first section of the DNS server, which serves all networks in OpenWrt's configuration. */
export const resolverOf = (draft: Draft): Section | undefined => draft.all('dhcp', 'dnsmasq')[0];

/** Returns what a reservation identifies its device by. */
export const ownerOf = (host: Section): string =>
  [...list(host, 'mac'), ...list(host, 'duid')].join(', ');
