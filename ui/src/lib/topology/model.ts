// SPDX-License-Identifier: GPL-2.0-or-later
/** Networks and the devices below them, which are uplinks, hosts behind a port, and the state of a
 * device. */

import type { Bridge, BridgePort, EngineState, Interface, Link, Topology } from '../api/types';

/** Every VLAN of the bridges and of VLAN devices, in order. */
export function vlansOf(topology: Topology): number[] {
  const bridged = topology.bridges.flatMap(vlansOfBridge);
  const devices = topology.links.map((link) => link.vlan).filter((vlan) => vlan > 0);
  return [...new Set([...bridged, ...devices])].sort((a, b) => a - b);
}

export function vlansOfBridge(bridge: Bridge): number[] {
  const vids = bridge.ports.flatMap((port) => port.vlans.map((vlan) => vlan.vid));
  return [...new Set(vids)].sort((a, b) => a - b);
}

/** Reasons of a device that is not in the fast path itself, but whose ports are. */
const THROUGH = ['bridge', 'vlan', 'ppp', 'member'];

export const isThroughPort = ({ cause }: Pick<Link, 'cause'>): boolean =>
  THROUGH.includes(cause.code);

/** The device and those it stands on, top first. */
export function chainOf(topology: Topology, name: string): Link[] {
  const chain: Link[] = [];
  let next = name;
  // A device cannot stand on itself, but a snapshot taken between two changes might say so.
  while (next !== '' && !chain.some((link) => link.name === next)) {
    const link = topology.links.find((each) => each.name === next);
    if (!link) break;
    chain.push(link);
    next = link.lower;
  }
  return chain;
}

/** One network: its layer 3 device, the devices below it, and its name in the configuration. */
export interface Network {
  device: string;
  chain: Link[];
  interface: Interface | undefined;
  uplink: boolean;
}

/**
 * Networks that packets are routed between, loopback aside. A device that nothing stands on counts
 * even without an address: an uplink that is down keeps its place in the picture.
 *
 * `wanPorts`: lowest devices known to lead to the Internet.
 */
export function networksOf(topology: Topology, wanPorts: readonly string[] = []): Network[] {
  const carriers = new Set(topology.links.map((link) => link.lower));
  return topology.links
    .filter((link) => link.kind !== 'loopback' && link.kind !== 'bridge' && link.master === '')
    .filter((link) => routedAddresses(link).length > 0 || !carriers.has(link.name))
    .concat(
      topology.links.filter((link) => link.kind === 'bridge' && routedAddresses(link).length > 0),
    )
    .map((link) => {
      const configured = topology.interfaces.find((each) => each.device === link.name);
      const chain = chainOf(topology, link.name);
      const uplink =
        link.kind === 'ppp' ||
        configured?.zone === 'wan' ||
        wanPorts.includes(chain.at(-1)?.name ?? '');
      return { device: link.name, chain, interface: configured, uplink };
    });
}

/** Addresses that packets are routed by: every device has a link-local one besides. */
export function routedAddresses(link: Link): string[] {
  return link.addresses.filter((address) => !/^fe[89ab]/i.test(address));
}

/** Devices that have a program of the engine ebpf, or are in the flowtable as its fallback. */
export function heldBy(engine: EngineState | undefined): readonly string[] {
  return engine?.active === 'ebpf' ? engine.devices : [];
}

/** The engine that offloads flows over this device; empty: none. */
export function shortOf(link: Link, held: readonly string[]): 'flowtable' | 'ebpf' | '' {
  if (link.in_flowtable) return 'flowtable';
  return held.includes(link.name) ? 'ebpf' : '';
}

export function stateOf(link: Link): 'up' | 'nolink' | 'disabled' {
  if (!link.up) return 'disabled';
  return link.carrier ? 'up' : 'nolink';
}

/** "10 20t": untagged VLANs bare, tagged ones with a t, like switches print them. */
export function membership(port: BridgePort | undefined): string {
  return (port?.vlans ?? []).map((vlan) => `${vlan.vid}${vlan.tagged ? 't' : ''}`).join(' ');
}

/** Who is behind a port, one name a machine: the same MAC often has an address of each family. */
export function hostsBehind(topology: Topology, port: string): string[] {
  const names = new Map<string, string>();
  for (const host of topology.hosts.filter((each) => each.port === port)) {
    const key = host.mac || host.address;
    if (host.name || !names.has(key)) names.set(key, host.name || host.address);
  }
  return [...names.values()];
}
