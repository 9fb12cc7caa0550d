// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import type { Spec } from '../form/Form.svelte';
import { isOn, list, text } from '../form/sections';

/** Bytes of the PPPoE and PPP headers in each Ethernet frame (RFC 2516). */
const PPPOE_BYTES = 8;
/** MTU of a PPPoE session with baby jumbo frames (RFC 4638). */
const FULL_MTU = 1500;

const when =
  (...protos: string[]) =>
  (value: (option: string) => string) =>
    protos.includes(value('proto'));

export const specs: readonly Spec[] = [
  { option: 'proto', choices: ['pppoe', 'dhcp', 'static', 'none'] },
  { option: 'username', when: when('pppoe') },
  { option: 'password', kind: 'secret', when: when('pppoe') },
  { option: 'ipaddr', kind: 'addresses', when: when('static') },
  { option: 'gateway', when: when('static') },
];

export const further: readonly Spec[] = [
  { option: 'service', when: when('pppoe') },
  { option: 'ac', when: when('pppoe') },
  { option: 'keepalive', when: when('pppoe') },
  { option: 'hostname', when: when('dhcp') },
  { option: 'dns', kind: 'list', when: when('pppoe', 'dhcp', 'static') },
  { option: 'mtu', range: [576, 9000], when: when('pppoe', 'dhcp', 'static') },
  { option: 'ipv6', choices: ['auto', '1', '0'], otherwise: 'auto', when: when('pppoe') },
];

/** Returns the WANs: interfaces whose zone masquerades. */
export function wansOf(draft: Draft): string[] {
  const outside = draft.all('firewall', 'zone').filter((zone) => isOn(zone, 'masq'));
  const names = outside.flatMap((zone) => list(zone, 'network'));
  const real = names.filter((name) => {
    const device = text(draft.get('network', name), 'device');
    return draft.get('network', name) && !device.startsWith('@');
  });
  return real.length > 0 ? real : draft.get('network', 'wan') ? ['wan'] : [];
}

interface Line {
  port: string;
  vid: string;
}

/**
 * Returns port and VLAN of a WAN, such as `wan` and `35` of `wan.35`. With QinQ, the port is the
 * device of the outer tag.
 */
export function lineOf(draft: Draft, name: string): Line {
  return lineOfDevice(draft, text(draft.get('network', name), 'device'));
}

function lineOfDevice(draft: Draft, device: string): Line {
  const described = vlanOf(draft, device);
  if (described) return { port: text(described, 'ifname'), vid: text(described, 'vid') };
  const [, port = device, vid = ''] = /^(.+)\.(\d+)$/.exec(device) ?? [];
  return { port, vid };
}

const deviceOf = (draft: Draft, name: string) =>
  draft.all('network', 'device').find((each) => text(each, 'name') === name);

/** Returns the section of a VLAN device. */
function vlanOf(draft: Draft, name: string) {
  const found = deviceOf(draft, name);
  return ['8021q', '8021ad'].includes(text(found, 'type')) ? found : undefined;
}

/** Sets port and VLAN. netifd creates `wan.35` from its name. */
export function setLine(draft: Draft, name: string, port: string, vid: string): void {
  const old = text(draft.get('network', name), 'device');
  const described = vlanOf(draft, old);
  const device = vid ? `${port}.${vid}` : port;
  if (described && vid) {
    draft.set('network', described.section, { name: device, ifname: port, vid });
  } else if (described) draft.remove('network', described.section);
  draft.set('network', name, { device });
}

export function portsOf(draft: Draft, known: readonly string[], name: string): string[] {
  const bridged = draft.all('network', 'device').flatMap((each) => list(each, 'ports'));
  const free = known.filter((port) => !bridged.includes(port) && !port.includes('.'));
  return [...new Set([lineOf(draft, name).port, ...free])].filter(Boolean);
}

/** Returns the label of a port; a device with an outer tag has its VLAN and port appended. */
export function labelOf(draft: Draft, device: string): string {
  const { port, vid } = lineOfDevice(draft, device);
  return vid ? `${device} (VLAN ${vid}, ${port})` : device;
}

/** Returns the devices below a PPPoE session: the port and its VLAN devices, lowest first. */
function below(draft: Draft, name: string): string[] {
  const found: string[] = [];
  let device = text(draft.get('network', name), 'device');
  // A loop in the configuration must not hang the page.
  while (device && !found.includes(device)) {
    found.unshift(device);
    const { port, vid } = lineOfDevice(draft, device);
    device = vid ? port : '';
  }
  return found;
}

/** Reports whether PPPoE has an MTU of 1500, which needs baby jumbo frames (RFC 4638). */
export function isJumbo(draft: Draft, name: string): boolean {
  const wide = below(draft, name).every((device) => {
    return Number(text(deviceOf(draft, device), 'mtu')) >= FULL_MTU + PPPOE_BYTES;
  });
  return wide && text(draft.get('network', name), 'mtu') === String(FULL_MTU);
}

export function setJumbo(draft: Draft, name: string, on: boolean): void {
  const mtu = on ? String(FULL_MTU + PPPOE_BYTES) : '';
  for (const device of below(draft, name)) {
    const described = deviceOf(draft, device);
    if (described) draft.set('network', described.section, { mtu });
    else if (on) draft.add('network', 'device', { name: device, mtu });
  }
  draft.set('network', name, { mtu: on ? String(FULL_MTU) : '' });
}

export interface State {
  interface: string;
  up?: boolean;
  pending?: boolean;
  uptime?: number;
  l3_device?: string;
  'ipv4-address'?: { address: string; mask: number }[];
  'ipv6-address'?: { address: string; mask: number }[];
  errors?: { code: string }[];
}

export interface Logged {
  msg: string;
  time: number;
}

/**
 * Returns log entries about a WAN, newest first: all of the programs that connect, and those of
 * netifd and the kernel that name it.
 */
export function about(name: string, log: readonly Logged[]): Logged[] {
  const own = new RegExp(
    `^(pppd|pppoe|udhcpc|odhcp6c)\\b|^(netifd|kernel)\\b.*(?<![\\w-])${name}(?![\\w-])`,
  );
  return log
    .filter(({ msg }) => own.test(msg))
    .slice(-40)
    .reverse();
}
