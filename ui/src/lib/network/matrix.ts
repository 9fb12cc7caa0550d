// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { isolate } from '../firewall/zones';
import { addressesOf } from '../form/addresses';
import { list, text, type Section } from '../form/sections';
import { followName, leaveNetwork } from '../wifi/wifi';
import { forget, recall, remember } from './left';
import { pool4, pool6 } from './services';

/** Membership of a port: untagged or tagged. `*` marks the PVID. */
export const members = ['', 'u*', 't', 'u', 't*'] as const;
export type Member = (typeof members)[number];

export interface Bridge {
  section: Section;
  name: string;
  ports: readonly string[];
}

export interface Vlan {
  section: Section;
  bridge: string;
  vid: string;
  members: ReadonlyMap<string, Member>;
  interface: Section | undefined;
  zone: Section | undefined;
}

export const bridgesOf = (draft: Draft): Bridge[] =>
  draft
    .all('network', 'device')
    .filter((each) => text(each, 'type') === 'bridge')
    .map((section) => ({ section, name: text(section, 'name'), ports: list(section, 'ports') }));

/** Parses netifd's notation: `lan1`, `lan1:t`, `lan1:u*`. Without a letter the port is untagged. */
export function memberOf(entry: string): [port: string, member: Member] {
  const [port = '', flags = ''] = entry.split(':', 2);
  const kind = flags.includes('t') ? 't' : 'u';
  return [port, flags.includes('*') ? `${kind}*` : kind];
}

const device = (vlan: { bridge: string; vid: string }) => `${vlan.bridge}.${vlan.vid}`;

export const zoneOf = (draft: Draft, name: string): Section | undefined =>
  draft.all('firewall', 'zone').find((zone) => list(zone, 'network').includes(name));

export function vlansOf(draft: Draft, bridge: string): Vlan[] {
  const found = draft.all('network', 'bridge-vlan').filter((each) => {
    return text(each, 'device') === bridge;
  });
  const vlans = found.map((section): Vlan => {
    const vid = text(section, 'vlan');
    const own = draft.all('network', 'interface').find((each) => {
      return text(each, 'device') === device({ bridge, vid });
    });
    const zone = own && zoneOf(draft, own.section);
    const entries = new Map(list(section, 'ports').map(memberOf));
    return { section, bridge, vid, members: entries, interface: own, zone };
  });
  return vlans.sort((a, b) => Number(a.vid) - Number(b.vid));
}

function write(draft: Draft, vlan: Vlan, entries: ReadonlyMap<string, Member>): void {
  const ports = [...entries].filter(([, member]) => member !== '');
  draft.set('network', vlan.section.section, {
    ports: ports.map(([port, member]) => `${port}:${member}`),
  });
}

interface Left {
  vid: string;
  member: Member;
}

const isPvid = (member: Member | undefined) => member?.includes('*') ?? false;
const cellOf = ({ bridge, vid }: Vlan, port: string) => [bridge, vid, port];

/** Returns the memberships that a port leaves; empty once the router has applied the new one. */
function leftBy(draft: Draft, vlan: Vlan, port: string): Left[] {
  const before = list(draft.original('network', vlan.section.section), 'ports').map(memberOf);
  const applied = before.some(([each, member]) => each === port && isPvid(member));
  if (applied || !isPvid(vlan.members.get(port))) return [];
  const others = vlansOf(draft, vlan.bridge);
  return (recall<Left[]>(draft, cellOf(vlan, port)) ?? []).filter(({ vid }) =>
    others.some((other) => other.vid === vid && !isPvid(other.members.get(port))),
  );
}

export const leaves = (draft: Draft, vlan: Vlan, port: string): string[] =>
  leftBy(draft, vlan, port).map(({ vid }) => vid);

/**
 * Sets the membership of a port. A port has one PVID: it leaves the VLAN of the previous one, and
 * returns there when it leaves the new one.
 */
export function join(draft: Draft, vlan: Vlan, port: string, member: Member): void {
  const put = (vid: string, now: Member) => {
    const other = vlansOf(draft, vlan.bridge).find((each) => each.vid === vid);
    if (other) write(draft, other, new Map([...other.members, [port, now]]));
  };
  const cell = cellOf(vlan, port);
  const back = leftBy(draft, vlan, port);
  put(vlan.vid, member);
  if (!isPvid(member)) {
    for (const each of back) put(each.vid, each.member);
    forget(draft, cell);
    return;
  }
  const left = vlansOf(draft, vlan.bridge).flatMap((other): Left[] => {
    const now = other.members.get(port);
    return other.vid === vlan.vid || !now || !isPvid(now) ? [] : [{ vid: other.vid, member: now }];
  });
  for (const { vid, member: now } of left) put(vid, now === 't*' ? 't' : '');
  if (left.length > 0) remember(draft, cell, left);
}

export interface Wanted {
  vid: string;
  name: string;
  /** The router's address with prefix length; empty for none. */
  address: string;
  /** Name of a zone; `+` is a new zone that reaches only the Internet. */
  zone: string;
  dhcp: boolean;
}

export type Wrong = 'vid' | 'vid.taken' | 'name' | 'name.taken' | 'address';

export function wrongWith(draft: Draft, bridge: string, wanted: Wanted): Wrong[] {
  const { vid, name, address } = wanted;
  const number = /^\d{1,4}$/.test(vid) ? Number(vid) : 0;
  const wrong: Wrong[] = [];
  if (number < 1 || number > 4094) wrong.push('vid');
  else if (vlansOf(draft, bridge).some((each) => Number(each.vid) === number)) {
    wrong.push('vid.taken');
  }
  const zones = draft.all('firewall', 'zone').map((zone) => text(zone, 'name'));
  const taken = draft.get('network', name) || (wanted.zone === '+' && zones.includes(name));
  // fw4 uses the name in rules, and dnsmasq in file names.
  if (!/^[a-z][a-z0-9_]{0,10}$/.test(name)) wrong.push('name');
  else if (taken) wrong.push('name.taken');
  if (address !== '' && !isIpv4Cidr(address)) wrong.push('address');
  return wrong;
}

function isIpv4Cidr(address: string): boolean {
  const [, a, b, c, d, length] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(address) ?? [];
  return length !== undefined && Number(length) <= 30 && [a, b, c, d].every((n) => Number(n) < 256);
}

/** Prefix length of OpenWrt's lan, from a delegated or the local prefix. */
const PREFIX6 = '60';

export function addVlan(draft: Draft, bridge: string, wanted: Wanted): void {
  const { vid, name, address, zone } = wanted;
  draft.add('network', 'bridge-vlan', { device: bridge, vlan: vid });
  const proto: Section['values'] = address
    ? { proto: 'static', ipaddr: [address], ip6assign: PREFIX6 }
    : { proto: 'none' };
  draft.add('network', 'interface', { device: `${bridge}.${vid}`, ...proto }, name);
  if (wanted.dhcp && address) {
    draft.add('dhcp', 'dhcp', { interface: name, ...pool4, ...pool6 }, name);
  }
  if (zone === '+') isolate(draft, { network: name });
  else enter(draft, name, zone);
}

export const wantedOf = (vlan: Vlan): Pick<Wanted, 'name' | 'address' | 'zone'> => ({
  name: vlan.interface?.section ?? '',
  address: addressesOf(vlan.interface)[0] ?? '',
  zone: text(vlan.zone, 'name'),
});

/** Writes changed values. The form has no address for an interface with a DHCP client. */
export function editVlan(draft: Draft, vlan: Vlan, wanted: ReturnType<typeof wantedOf>): void {
  const now = wantedOf(vlan);
  if (!vlan.interface) return;
  if (wanted.address !== now.address) setAddress(draft, now.name, wanted.address);
  if (wanted.zone !== now.zone) enter(draft, now.name, wanted.zone);
  renameVlan(draft, { ...vlan, zone: zoneOf(draft, now.name) }, wanted.name);
}

export function setAddress(draft: Draft, name: string, address: string): void {
  const [, ...others] = addressesOf(draft.get('network', name));
  const ipaddr = [address, ...others].filter(Boolean);
  const proto = ipaddr.length > 0 ? 'static' : 'none';
  draft.set('network', name, { ipaddr, netmask: '', proto });
}

export function enter(draft: Draft, name: string, zone: string): void {
  leave(draft, name);
  const found = draft.all('firewall', 'zone').find((each) => text(each, 'name') === zone);
  if (found) draft.set('firewall', found.section, { network: [...list(found, 'network'), name] });
}

function leave(draft: Draft, name: string): void {
  const zone = zoneOf(draft, name);
  const rest = list(zone, 'network').filter((each) => each !== name);
  if (zone) draft.set('firewall', zone.section, { network: rest });
}

/** Returns the sections that refer to an interface by name, except its zone. */
const references = (draft: Draft, name: string) =>
  draft.all('dhcp', 'dhcp').filter((each) => text(each, 'interface') === name);

export function renameVlan(draft: Draft, vlan: Vlan, name: string): void {
  const old = vlan.interface?.section;
  if (!old || old === name) return;
  if (vlan.zone) {
    const network = list(vlan.zone, 'network').map((each) => (each === old ? name : each));
    draft.set('firewall', vlan.zone.section, { network });
  }
  for (const each of references(draft, old)) draft.set('dhcp', each.section, { interface: name });
  followName(draft, old, name);
  draft.rename('network', old, name);
}

/** Removes a VLAN with its interface, and the zone and SSIDs without another network. */
export function removeVlan(draft: Draft, vlan: Vlan): void {
  draft.remove('network', vlan.section.section);
  if (!vlan.interface) return;
  const name = vlan.interface.section;
  draft.remove('network', name);
  draft.remove('dhcp', ...references(draft, name).map((each) => each.section));
  leaveNetwork(draft, name);
  leave(draft, name);
  if (!vlan.zone || list(vlan.zone, 'network').length > 1) return;
  const zone = text(vlan.zone, 'name');
  const about = draft.all('firewall').filter((each) => {
    return [text(each, 'src'), text(each, 'dest')].includes(zone);
  });
  draft.remove('firewall', vlan.zone.section, ...about.map((each) => each.section));
}
