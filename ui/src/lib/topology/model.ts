// SPDX-License-Identifier: GPL-2.0-or-later

import type { Bridge, BridgePort, EngineState, Interface, Link, Topology } from '../api/types';

/** Returns all VLANs of bridges and VLAN devices, ascending. */
export function vlansOf(topology: Topology): number[] {
  const bridged = topology.bridges.flatMap(vlansOfBridge);
  const devices = topology.links.map((link) => link.vlan).filter((vlan) => vlan > 0);
  return [...new Set([...bridged, ...devices])].sort((a, b) => a - b);
}

export function vlansOfBridge(bridge: Bridge): number[] {
  const vids = bridge.ports.flatMap((port) => port.vlans.map((vlan) => vlan.vid));
  return [...new Set(vids)].sort((a, b) => a - b);
}

/** Reasons of devices whose ports, not they themselves, are in the fast path. */
const THROUGH = ['bridge', 'vlan', 'ppp', 'conduit'];

export const isThroughPort = ({ cause }: Pick<Link, 'cause'>): boolean =>
  THROUGH.includes(cause.code);

/** Returns the ports of cards and switches. */
export function portsOf(topology: Topology): Link[] {
  return topology.links.filter(
    ({ kind, cause }) => ['ethernet', 'dsa'].includes(kind) && cause.code !== 'conduit',
  );
}

export function chainOf(topology: Topology, name: string): Link[] {
  const chain: Link[] = [];
  let next = name;
  // A snapshot during a change may contain a loop.
  while (next !== '' && !chain.some((link) => link.name === next)) {
    const link = topology.links.find((each) => each.name === next);
    if (!link) break;
    chain.push(link);
    next = link.lower;
  }
  return chain;
}

/** A network: its layer 3 device, the devices below it, and its interface in the configuration. */
export interface Network {
  device: string;
  chain: Link[];
  interface: Interface | undefined;
  uplink: boolean;
}

/**
 * Returns the routed networks, without loopback. A topmost device counts without an address, so
 * that an uplink keeps its place while it is down.
 *
 * @param wanPorts lowest devices known to lead to the Internet
 */
export function networksOf(topology: Topology, wanPorts: readonly string[] = []): Network[] {
  const carriers = new Set(topology.links.map((link) => link.lower));
  return topology.links
    .filter((link) => link.kind !== 'loopback' && link.kind !== 'bridge' && link.master === '')
    .filter((link) => link.cause.code !== 'conduit')
    .filter((link) => routedAddresses(link).length > 0 || !carriers.has(link.name))
    .concat(
      topology.links.filter((link) => link.kind === 'bridge' && routedAddresses(link).length > 0),
    )
    .map((link) => {
      const over = topology.interfaces.filter((each) => each.device === link.name);
      // An interface such as that of MAP-E's address runs over the WAN, but has no zone.
      const configured = over.find((each) => each.zone !== '') ?? over[0];
      const chain = chainOf(topology, link.name);
      const uplink =
        link.kind === 'ppp' ||
        configured?.zone === 'wan' ||
        wanPorts.includes(chain.at(-1)?.name ?? '');
      return { device: link.name, chain, interface: configured, uplink };
    });
}

/** Returns the addresses except link-local ones, which every device has. */
export function routedAddresses(link: Link): string[] {
  return link.addresses.filter((address) => !/^fe[89ab]/i.test(address));
}

/** Returns the devices with an eBPF program, or in the flowtable as fallback. */
export function heldBy(engine: EngineState | undefined): readonly string[] {
  return engine?.active === 'ebpf' ? engine.devices : [];
}

/** Returns the engine that offloads flows of this device; empty if none does. */
export function shortOf(link: Link, held: readonly string[]): 'flowtable' | 'ebpf' | '' {
  if (link.in_flowtable) return 'flowtable';
  return held.includes(link.name) ? 'ebpf' : '';
}

export function stateOf(link: Link): 'up' | 'nolink' | 'disabled' {
  if (!link.up) return 'disabled';
  return link.carrier ? 'up' : 'nolink';
}

/** Formats VLANs like a switch: "10 20t" is untagged 10 and tagged 20. */
export function membership(port: BridgePort | undefined): string {
  return (port?.vlans ?? []).map((vlan) => `${vlan.vid}${vlan.tagged ? 't' : ''}`).join(' ');
}

/** Returns one name per host behind a port; a MAC often has addresses of both families. */
export function hostsBehind(topology: Topology, port: string): string[] {
  const names = new Map<string, string>();
  for (const host of topology.hosts.filter((each) => each.port === port)) {
    const key = host.mac || host.address;
    if (host.name || !names.has(key)) names.set(key, host.name || host.address);
  }
  return [...names.values()];
}
