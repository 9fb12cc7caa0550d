// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { isOn, list, text, type Options, type Section } from '../form/sections';
import { isForward } from './forwards';
import { defaultPolicy, policyOf, targetOf } from './fw4';

type Sections = Pick<Draft, 'all' | 'set' | 'add' | 'remove'>;

const FILE = 'firewall';

export interface Zone {
  section: string;
  name: string;
  networks: string[];
  input: boolean;
  within: boolean;
  masq: boolean;
}

export function zonesOf(draft: Pick<Sections, 'all'>): Zone[] {
  return draft.all(FILE, 'zone').map((zone) => ({
    section: zone.section,
    name: text(zone, 'name'),
    networks: list(zone, 'network'),
    input: policyOf(draft, zone, 'input') === 'accept',
    within: policyOf(draft, zone, 'forward') === 'accept',
    masq: isOn(zone, 'masq'),
  }));
}

export const rulesOf = (draft: Pick<Sections, 'all'>): number =>
  draft.all(FILE, 'rule').filter((each) => isOn(each, 'enabled', '1')).length;

/** Returns the enabled forwardings from one zone to another; `*` stands for every zone. */
function forwardings(draft: Pick<Sections, 'all'>, src: string, dest: string): Section[] {
  return draft
    .all(FILE, 'forwarding')
    .filter((each) => isOn(each, 'enabled', '1'))
    .filter((each) => ['*', src].includes(text(each, 'src')))
    .filter((each) => ['*', dest].includes(text(each, 'dest')));
}

/** Returns the access from `src` to `dest`; `always` if a cell cannot revoke it. */
export function reaches(
  draft: Pick<Sections, 'all'>,
  src: string,
  dest: string,
): 'yes' | 'no' | 'always' {
  if (isOpen(draft)) return 'always';
  const found = forwardings(draft, src, dest);
  if (found.some((each) => text(each, 'src') === '*' || text(each, 'dest') === '*')) {
    return 'always';
  }
  return found.length > 0 ? 'yes' : 'no';
}

const isOpen = (draft: Pick<Sections, 'all'>): boolean =>
  defaultPolicy(draft, 'forward') === 'accept';

export function connect(draft: Sections, src: string, dest: string, on: boolean): void {
  const found = forwardings(draft, src, dest).map(({ section }) => section);
  if (!on) draft.remove(FILE, ...found);
  else if (found.length === 0) draft.add(FILE, 'forwarding', { src, dest });
}

/** Returns the networks without a zone, which fw4 does not forward. */
export function unzonedNetworks(draft: Pick<Sections, 'all'>): string[] {
  const taken = new Set(zonesOf(draft).flatMap(({ networks }) => networks));
  return draft
    .all('network', 'interface')
    .map(({ section }) => section)
    .filter((name) => name !== 'loopback' && !taken.has(name));
}

const MAX_NAME_LENGTH = 11;

export function zoneName(network: string, zones: readonly Zone[]): string {
  const taken = new Set(zones.map(({ name }) => name));
  // fw4 skips zones whose name begins with a digit.
  const base = network.replaceAll(/[^\w]/g, '_').replace(/^\d/, '_$&').slice(0, MAX_NAME_LENGTH);
  const tries = [base, ...[...'23456789'].map((n) => base.slice(0, MAX_NAME_LENGTH - 1) + n)];
  return tries.find((name) => !taken.has(name)) ?? base;
}

/** Default of `proto`. */
const TCPUDP = ['tcp', 'udp'];

/**
 * Router services for guests: addresses, names and ICMPv6. Without neighbour discovery IPv6 does
 * not work, and without ICMPv6 errors large packets are lost.
 */
const services: { name: string; values: Options }[] = [
  { name: 'DHCP', values: { proto: 'udp', dest_port: '67' } },
  { name: 'DHCPv6', values: { proto: 'udp', dest_port: '547', family: 'ipv6' } },
  { name: 'DNS', values: { proto: ['tcp', 'udp'], dest_port: '53' } },
  {
    name: 'ICMPv6',
    values: {
      proto: 'icmp',
      family: 'ipv6',
      icmp_type: [
        'router-solicitation',
        'neighbour-solicitation',
        'neighbour-advertisement',
        'destination-unreachable',
        'packet-too-big',
        'time-exceeded',
        'bad-header',
        'unknown-header-type',
      ],
      limit: '1000/sec',
    },
  },
];

/** Options that do not restrict a rule to less than a service. */
const lenient = ['name', 'src', 'target', 'enabled', 'limit', 'limit_burst', 'counter', 'log'];

/** Reports whether a rule allows the whole service, without further conditions. */
function allows(rule: Section, values: Options): boolean {
  const compared = ['proto', 'family', 'dest_port', 'icmp_type'];
  const others = Object.keys(rule.values).filter((each) => !lenient.includes(each));
  if (targetOf(rule) !== 'accept' || !isOn(rule, 'enabled', '1')) return false;
  if (others.some((each) => !compared.includes(each))) return false;
  const protocols = list(rule, 'proto').flatMap((each) => (each === 'tcpudp' ? TCPUDP : [each]));
  const covers = (option: string, there: readonly string[], ...any: string[]) =>
    there.some((each) => any.includes(each)) ||
    [values[option] ?? []].flat().every((each) => there.includes(each));
  const unset = (option: string) => list(rule, option).length === 0;
  return (
    covers('proto', protocols.length > 0 ? protocols : TCPUDP, 'all', 'any', '*') &&
    ['any', values['family'] ?? 'any'].includes(text(rule, 'family') || 'any') &&
    (unset('dest_port') || covers('dest_port', list(rule, 'dest_port'))) &&
    (unset('icmp_type') || covers('icmp_type', list(rule, 'icmp_type')))
  );
}

/**
 * Makes a zone, or a new zone for a network, a guest zone: it reaches only the Internet and the
 * services for guests, and no zone reaches it.
 */
export function isolate(draft: Sections, of: { zone: Zone } | { network: string }): void {
  const zones = zonesOf(draft);
  const closed = { input: 'REJECT', output: 'ACCEPT', forward: 'REJECT' };
  let name: string;
  if ('zone' in of) {
    name = of.zone.name;
    draft.set(FILE, of.zone.section, closed);
  } else {
    name = zoneName(of.network, zones);
    draft.add(FILE, 'zone', { name, network: [of.network], ...closed });
  }
  const others = zones.filter((each) => each.name !== name);
  for (const other of others) {
    connect(draft, name, other.name, other.masq);
    connect(draft, other.name, name, false);
  }
  const known = draft.all(FILE, 'rule').filter((each) => text(each, 'src') === name);
  for (const { name: service, values } of services) {
    if (known.some((each) => allows(each, values))) continue;
    const rule = { ...values, name: `Allow-${service}-${name}`, src: name, target: 'ACCEPT' };
    draft.add(FILE, 'rule', rule);
  }
}

export function rulesInto(draft: Pick<Sections, 'all'>, zone: Zone): Section[] {
  const enabled = (type: string) =>
    draft.all(FILE, type).filter((each) => isOn(each, 'enabled', '1'));
  const leads = (each: Section) => ['*', zone.name].includes(text(each, 'dest'));
  const rules = enabled('rule').filter(
    (each) => leads(each) && text(each, 'src') !== zone.name && targetOf(each) === 'accept',
  );
  // Without `dest`, fw4 derives the zone from the address.
  const redirects = enabled('redirect').filter(
    (each) =>
      isForward(each) && text(each, 'dest_ip') !== '' && (text(each, 'dest') === '' || leads(each)),
  );
  return [...rules, ...redirects];
}

/** Reports whether the zone has no access beyond that of `isolate`. Rules are not considered. */
export function isIsolated(draft: Pick<Sections, 'all'>, zone: Zone): boolean {
  const others = zonesOf(draft).filter(({ name }) => name !== zone.name);
  const open = others.some(
    ({ name, masq }) =>
      reaches(draft, name, zone.name) !== 'no' ||
      (!masq && reaches(draft, zone.name, name) !== 'no'),
  );
  return !zone.input && !zone.within && !zone.masq && !open;
}
