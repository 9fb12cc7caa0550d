// SPDX-License-Identifier: GPL-2.0-or-later

import type { Device as Reported, Devices } from '../api/types';
import { plain } from '../search/rank';

export const kinds = [
  ...['phone', 'tablet', 'laptop', 'desktop', 'tv', 'console'],
  ...['printer', 'camera', 'speaker', 'appliance', 'server', 'network'],
] as const;

/** Kind, vendor, group, pause, limits and inspection of a device, mostly from its owner. */
export interface Owned {
  /** The configuration names the device. */
  known: boolean;
  kind: string;
  /** Who tells the kind: `owner`, `mdns` or `name`. */
  kind_source: string;
  /** To whom IEEE assigned the MAC; empty if unknown. */
  vendor: string;
  group: string;
  paused: string;
  /** End of the pause, Unix ms; 0 if it has none. */
  until_ms: number;
  /** Limits in force, kbit/s; 0 for none. */
  limit_down: number;
  limit_up: number;
  /** Bytes per day in MB; 0 for none. */
  quota_mb: number;
  /** `always`, `never` or, by policy, empty. */
  inspect: string;
}

export type Device = Reported & Owned;

/** Returns the devices of an answer. Older daemons do not know what the owner said. */
export const devicesOf = (answer: Devices | null | undefined): Device[] =>
  (answer?.devices ?? []).map((each) => ({
    ...{
      known: false,
      kind: '',
      kind_source: 'owner',
      vendor: '',
      group: '',
      paused: '',
      until_ms: 0,
    },
    ...{ limit_down: 0, limit_up: 0, quota_mb: 0, inspect: '' },
    ...each,
  }));

const isV4 = (address: string) => !address.includes(':');
const isLinkLocal = (address: string) => /^fe[89ab]/i.test(address);
const rankOf = (address: string) => (isV4(address) ? 0 : isLinkLocal(address) ? 2 : 1);

/** Returns IPv4 addresses first, then IPv6, link-local ones last; each with the newest first. */
export const addressesOf = ({ addresses }: Pick<Device, 'addresses'>): string[] =>
  [...addresses].reverse().sort((a, b) => rankOf(a) - rankOf(b));

/** Returns the addresses that flows through the router can have. */
export const routedOf = (device: Pick<Device, 'addresses'>): string[] =>
  addressesOf(device).filter((address) => !isLinkLocal(address));

/** Returns the newest IPv4 address; empty without one. */
export const v4Of = (device: Pick<Device, 'addresses'>): string =>
  addressesOf(device).find(isV4) ?? '';

export const nameOf = (device: Pick<Device, 'name' | 'addresses' | 'mac'>): string =>
  device.name || (addressesOf(device)[0] ?? device.mac);

/** Returns the other names of a device: its addresses and MAC, without the shown name. */
export const detailsOf = (device: Pick<Device, 'name' | 'addresses' | 'mac'>): string[] =>
  [...addressesOf(device), device.mac].filter((each) => each !== nameOf(device));

/** Silence after which a device counts as offline. Bridges forget a silent station as fast. */
const SILENT_MS = 300_000;

export type State = 'paused' | 'never' | 'offline' | 'online';

export function stateOf({ paused, seen_ms }: Device, now_ms: number): State {
  if (paused !== '') return 'paused';
  if (seen_ms === 0) return 'never';
  return now_ms - seen_ms >= SILENT_MS ? 'offline' : 'online';
}

export const bpsOf = ({ up_bps, down_bps }: Device): number => up_bps + down_bps;
export const bytesOf = ({ up_bytes, down_bytes }: Pick<Device, 'up_bytes' | 'down_bytes'>) =>
  up_bytes + down_bytes;

/** Returns the offloaded share of the bytes; `null` without bytes. */
export function shareOf(device: Pick<Device, 'up_bytes' | 'down_bytes' | 'offloaded_bytes'>) {
  const all = bytesOf(device);
  return all > 0 ? Math.min(device.offloaded_bytes, all) / all : null;
}

export const sorts = ['name', 'down', 'up', 'today', 'received', 'sent', 'flows', 'seen'] as const;
export type Sort = (typeof sorts)[number] | 'now';

export interface View {
  /** Device whose page is shown; empty for the list. */
  mac: string;
  text: string;
  /** `now` sorts by the rate of both directions. */
  sort: Sort;
  desc: boolean;
}

export function readView(params: URLSearchParams): View {
  const sort = sorts.find((each) => each === params.get('sort')) ?? 'now';
  return {
    mac: (params.get('mac') ?? '').toLowerCase(),
    text: (params.get('text') ?? '').slice(0, 100),
    sort,
    desc: params.get('dir') !== 'asc',
  };
}

export function writeView({ mac, text, sort, desc }: View): URLSearchParams {
  const all = { mac, text, sort: sort === 'now' ? '' : sort, dir: desc ? '' : 'asc' };
  return new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''));
}

/** Returns the view after a click on a column header: numbers descending, names ascending. */
export const sortedBy = (view: View, sort: Sort): View =>
  view.sort === sort ? { ...view, desc: !view.desc } : { ...view, sort, desc: sort !== 'name' };

const valueOf: Record<Exclude<Sort, 'name' | 'today'>, (device: Device) => number> = {
  now: bpsOf,
  down: (device) => device.down_bps,
  up: (device) => device.up_bps,
  received: (device) => device.down_bytes,
  sent: (device) => device.up_bytes,
  flows: (device) => device.flows,
  seen: (device) => device.seen_ms,
};

const byName = (a: Device, b: Device) =>
  Number(a.name === '') - Number(b.name === '') ||
  nameOf(a).localeCompare(nameOf(b), undefined, { numeric: true, sensitivity: 'base' }) ||
  (a.mac < b.mac ? -1 : 1);

/** Sorts devices. Equal ones are in the order of their bytes, then of their names. */
export function sorted(
  devices: readonly Device[],
  { sort, desc }: View,
  today: ReadonlyMap<string, number> | null = null,
): Device[] {
  const sign = desc ? -1 : 1;
  if (sort === 'name') return [...devices].sort((a, b) => sign * byName(a, b));
  const value = sort === 'today' ? ({ mac }: Device) => today?.get(mac) ?? 0 : valueOf[sort];
  return [...devices].sort(
    (a, b) => sign * (value(a) - value(b)) || bytesOf(b) - bytesOf(a) || byName(a, b),
  );
}

/** Keeps devices that contain every word in name, addresses, MAC, vendor, group or kind. */
export function matching(
  devices: readonly Device[],
  text: string,
  kindName: (kind: string) => string,
): Device[] {
  const words = plain(text).split(/\s+/).filter(Boolean);
  return devices.filter((each) => {
    const { name, mac, addresses, vendor, group, kind } = each;
    const all = plain([name, mac, ...addresses, vendor, group, kind && kindName(kind)].join(' '));
    return words.every((word) => all.includes(word));
  });
}

/** Returns the devices in the order of `held`, with further ones at the end. */
export function inOrder(devices: readonly Device[], held: readonly string[]): Device[] {
  const place = new Map(held.map((mac, i) => [mac, i]));
  const of = ({ mac }: Device) => place.get(mac) ?? held.length;
  return [...devices].sort((a, b) => of(a) - of(b));
}

/** Returns the devices of each group, by name. */
export function groupsOf(devices: readonly Device[]): Map<string, Device[]> {
  const groups = new Map<string, Device[]>();
  for (const each of devices) {
    if (each.group) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  }
  return new Map([...groups].sort(([a], [b]) => a.localeCompare(b)));
}

/** Returns Mbit/s of kbit/s, or GB of MB, to type; empty for none. */
export const mbitText = (kbit: number): string => (kbit === 0 ? '' : String(kbit / 1000));

/** Returns the typed Mbit/s in kbit/s, 0 for none; `null` if it is no possible limit. */
export function kbitOf(text: string): number | null {
  if (text.trim() === '') return 0;
  const kbit = Math.round(Number(text.trim().replace(',', '.')) * 1000);
  return kbit >= 8 && kbit <= 10_000_000 ? kbit : null;
}

/** Returns the typed GB in MB, 0 for none; `null` if it is no possible quota. */
export function megabytesOf(text: string): number | null {
  if (text.trim() === '') return 0;
  const mb = Math.round(Number(text.trim().replace(',', '.')) * 1000);
  return mb >= 1 && mb <= 10_000_000 ? mb : null;
}

/** Hour of the day at which a pause "until morning" ends. */
export const MORNING = 7;

/** Reports whether the owner has paused a device, so that `resume` ends the pause. */
export const byOwner = ({ paused }: Pick<Device, 'paused'>): boolean =>
  paused === 'always' || paused === 'until';
