// SPDX-License-Identifier: GPL-2.0-or-later

import type { Link, Topology } from '../api/types';
import { spelled } from '../format/foreign';
import {
  hostsBehind,
  membership,
  networksOf,
  routedAddresses,
  shortOf,
  type Network,
} from './model';

/** A box of the drawing. A unit of length is about a pixel. */
export interface Box {
  id: string;
  kind: 'hosts' | 'port' | 'bridge' | 'network' | 'router' | 'uplink' | 'internet';
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  lines: string[];
  link?: Link;
  /** Engine that offloads flows of this port. */
  short?: 'flowtable' | 'ebpf' | '';
}

/** A line between two points, with rounded steps. */
export interface Wire {
  id: string;
  from: [number, number];
  to: [number, number];
  up: boolean;
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  wires: Wire[];
  /** Engine of the drawn fast path; ports of the other engine are not part of it. */
  path: 'flowtable' | 'ebpf';
  /** The fast path as an SVG path; empty if it has no port. */
  fastPath: string;
  fastPathLabel: [number, number];
}

const columns = {
  hosts: { x: 0, width: 190 },
  port: { x: 236, width: 116 },
  bridge: { x: 406, width: 108 },
  network: { x: 560, width: 176 },
  router: { x: 782, width: 34 },
  uplink: { x: 862, width: 168 },
  wanPort: { x: 1076, width: 116 },
  internet: { x: 1246, width: 114 },
};
const WIDTH = 1360;
const TOP = 34;
const GAP = 14;
export const LINE = 17;
const HOST_LINES = 4;
const BOX = 52;
/** Distance of the fast path's vertical line from the ports. */
const RAIL = 22;

/** Places all boxes and lines: internal networks on the left, the Internet on the right. */
export function layOut(
  topology: Topology,
  wanPorts: readonly string[],
  messages: Messages,
  held: readonly string[] = [],
): Drawing {
  const networks = networksOf(topology, wanPorts);
  const inside = placeInside(topology, networks, messages);
  const outside = placeOutside(topology, networks, messages);
  const height = Math.max(inside.bottom, outside.bottom, TOP + 2 * BOX);
  const bar = box('router', 'router', TOP, height - TOP, messages.router);
  const boxes = [...inside.boxes, bar, ...outside.boxes];
  const wires = [...inside.wires, ...outside.wires];
  for (const each of boxes) {
    if (each.kind === 'port' && each.link) each.short = shortOf(each.link, held);
  }
  const path = boxes.some((each) => each.short === 'ebpf') ? 'ebpf' : 'flowtable';
  const members = boxes.filter((each) => each.short === path);
  const floor = height + 30;
  return {
    width: WIDTH,
    height: members.length > 0 ? floor + 12 : height + 4,
    boxes,
    wires,
    path,
    fastPath: members.length > 0 ? fastPath(members, floor) : '',
    fastPathLabel: [columns.router.x + columns.router.width / 2, floor - 9],
  };
}

export interface Messages {
  internet: string;
  router: string;
  /** Labels of bridges with and without VLAN filtering. */
  aware: string;
  plain: string;
  vlan: (vids: string) => string;
  session: (id: number) => string;
  /** Returns the SSID of a network device; empty for other devices. */
  ssid: (device: string) => string;
}

/** End of the lines at the router, which is as high as the drawing. */
const ROUTER = box('router', 'router', TOP, Infinity, '');

interface Side {
  boxes: Box[];
  wires: Wire[];
  bottom: number;
}

function placeInside(topology: Topology, networks: Network[], messages: Messages): Side {
  const side: Side = { boxes: [], wires: [], bottom: TOP };
  const masters = topology.bridges.map((bridge) => bridge.name);
  for (const bridge of topology.bridges) {
    const ports = topology.links.filter((link) => link.master === bridge.name);
    const vlansAt = (name: string) => {
      const vids = membership(bridge.ports.find((port) => port.name === name));
      return vids === '' ? [] : [messages.vlan(vids)];
    };
    const first = side.bottom;
    const placed = ports.map((link) => {
      const ssid = messages.ssid(link.name);
      // Only two lines fit; the table has the device's name.
      return placePort(side, topology, link, vlansAt(link.name), ssid && spelled(ssid));
    });
    const on = networks.filter((each) => each.chain.some((link) => link.name === bridge.name));
    const needed = first + on.length * (BOX + GAP);
    side.bottom = Math.max(side.bottom, needed);
    const height = side.bottom - GAP - first;
    const link = topology.links.find((each) => each.name === bridge.name);
    const lines = [bridge.vlan_filtering ? messages.aware : messages.plain];
    const middle = box(bridge.name, 'bridge', first, height, bridge.name, lines, link);
    side.boxes.push(middle);
    side.wires.push(...placed.map((port) => wire(port, middle, isUp(port.link))));
    placeNetworks(side, on, middle);
    side.bottom += GAP;
  }
  for (const network of networks.filter((each) => !each.uplink)) {
    const lowest = network.chain.at(-1);
    if (!lowest || network.chain.some((link) => masters.includes(link.name))) continue;
    const port = placePort(side, topology, lowest, []);
    placeNetworks(side, [network], port);
  }
  side.bottom -= GAP;
  return side;
}

function placePort(
  side: Side,
  topology: Topology,
  link: Link,
  messages: string[],
  title = '',
): Box {
  const names = hostsBehind(topology, link.name);
  const shown = names.length > HOST_LINES ? names.slice(0, HOST_LINES - 1) : names;
  const lines =
    shown.length < names.length ? [...shown, `+ ${names.length - shown.length}`] : shown;
  const height = Math.max(BOX, lines.length * LINE + 18);
  const y = side.bottom + (height - BOX) / 2;
  const port = box(link.name, 'port', y, BOX, title || link.name, messages, link);
  side.boxes.push(port);
  if (lines.length > 0) {
    const group = box(`${link.name}-hosts`, 'hosts', side.bottom, height, '', lines);
    side.boxes.push(group);
    side.wires.push(wire(group, port, isUp(link)));
  }
  side.bottom += height + GAP;
  return port;
}

function placeNetworks(side: Side, networks: Network[], on: Box): void {
  const room = on.height / Math.max(1, networks.length);
  networks.forEach((network, i) => {
    const y = on.y + room * i + (room - BOX) / 2;
    const { device } = network;
    const own = network.chain[0];
    const placed = box(`net-${device}`, 'network', y, BOX, device, networkLines(network), own);
    side.boxes.push(placed);
    side.wires.push(wire(on, placed, isUp(own)), wire(placed, ROUTER, isUp(own)));
  });
}

function networkLines(network: Network): string[] {
  const [head] = network.chain;
  if (!head) return [];
  const named = network.interface?.zone || network.interface?.name || '';
  const address = routedAddresses(head)[0] ?? '';
  return [[named, address].filter((part) => part !== '').join(' · ')];
}

/** Returns the headers that a device of the uplink adds. */
function layerLines(topology: Topology, link: Link, messages: Messages): string[] {
  const session = topology.pppoe.find((each) => each.device === link.name);
  if (session) return [messages.session(session.session)];
  return link.vlan > 0 ? [messages.vlan(String(link.vlan))] : [];
}

function placeOutside(topology: Topology, networks: Network[], messages: Messages): Side {
  const side: Side = { boxes: [], wires: [], bottom: TOP };
  const ports = new Map<string, Box>();
  for (const network of networks.filter((each) => each.uplink)) {
    const upper = network.chain.length > 1 ? network.chain.slice(0, -1) : network.chain;
    const stack = upper.map((link, i) => {
      const own = i === 0 ? networkLines(network) : [];
      const lines = [...own, ...layerLines(topology, link, messages)];
      const height = BOX + Math.max(0, lines.length - 1) * LINE;
      const placed = box(`up-${link.name}`, 'uplink', side.bottom, height, link.name, lines, link);
      side.bottom += height + GAP;
      return placed;
    });
    side.boxes.push(...stack);
    const [head] = stack;
    const last = stack.at(-1);
    const lowest = network.chain.at(-1);
    if (!head || !last || !lowest) continue;
    side.wires.push(wire(ROUTER, head, isUp(head.link)));
    stack.slice(1).forEach((below, i) => side.wires.push(down(stack[i] ?? head, below)));
    let port = ports.get(lowest.name);
    if (!port) {
      const y = last.y + (last.height - BOX) / 2;
      port = { ...box(lowest.name, 'port', y, BOX, lowest.name, [], lowest), ...columns.wanPort };
      ports.set(lowest.name, port);
      const cloud = box(`${lowest.name}-far`, 'internet', y, BOX, messages.internet);
      side.boxes.push(port, cloud);
      side.wires.push(wire(port, cloud, isUp(lowest)));
    }
    side.wires.push(wire(last, port, isUp(last.link)));
  }
  return side;
}

/**
 * Returns the SVG path: from each port to the vertical line on its side, along the floor, and up
 * again.
 */
function fastPath(members: Box[], floor: number): string {
  const inner = members.filter((each) => each.x < columns.router.x);
  const outer = members.filter((each) => each.x >= columns.router.x);
  const left = columns.port.x + columns.port.width + RAIL;
  const right = columns.wanPort.x - RAIL;
  const stub = (each: Box, edge: number, rail: number) =>
    `M${edge} ${each.y + BOX - 13}H${rail}V${floor}`;
  const stubs = [
    ...inner.map((each) => stub(each, each.x + each.width, left)),
    ...outer.map((each) => stub(each, each.x, right)),
  ];
  return `${stubs.join('')}M${left} ${floor}H${outer.length > 0 ? right : left}`;
}

function box(
  id: string,
  kind: Box['kind'],
  y: number,
  height: number,
  title: string,
  lines: string[] = [],
  link?: Link,
): Box {
  const plain = { id, kind, ...columns[kind], y, height, title, lines };
  return link ? { ...plain, link } : plain;
}

function wire(from: Box, to: Box, up: boolean): Wire {
  const level = from.height <= to.height ? middle(from) : middle(to);
  return {
    id: `${from.id}>${to.id}`,
    from: [from.x + from.width, level],
    to: [to.x, level],
    up,
  };
}

function down(upper: Box, lower: Box): Wire {
  const x = upper.x + upper.width / 2;
  return {
    id: `${upper.id}>${lower.id}`,
    from: [x, upper.y + upper.height],
    to: [x, lower.y],
    up: isUp(lower.link),
  };
}

function middle(each: Box): number {
  return each.y + each.height / 2;
}

function isUp(link: Link | undefined): boolean {
  return link === undefined || (link.up && link.carrier);
}
