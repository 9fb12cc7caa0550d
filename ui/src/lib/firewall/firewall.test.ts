// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import type { Options, Section } from '../form/sections';
import { endsHere, faultsOf, forwardsOf } from './forwards';
import {
  connect,
  isIsolated,
  isolate,
  reaches,
  rulesOf,
  unzonedNetworks,
  rulesInto,
  zoneName,
  zonesOf,
} from './zones';

const section = (name: string, type: string, values: Options): Section => ({
  section: name,
  type,
  anonymous: false,
  values,
});

const zone = (name: string, values: Options) => section(name, 'zone', { name, ...values });
const forwarding = (name: string, src: string, dest: string, values: Options = {}) =>
  section(name, 'forwarding', { src, dest, ...values });

let draft: Draft;

beforeEach(async () => {
  const configs = {
    firewall: [
      zone('lan', { network: ['lan'], input: 'ACCEPT', forward: 'ACCEPT' }),
      zone('iot', { network: 'iot cams', input: 'ACCEPT', forward: 'REJECT' }),
      zone('wan', { network: ['wan'], input: 'REJECT', forward: 'REJECT', masq: '1' }),
      forwarding('f1', 'lan', 'wan'),
      forwarding('f2', 'lan', 'iot'),
      forwarding('f3', 'iot', 'lan', { enabled: '0' }),
      section('old', 'redirect', { src: 'wan', dest: 'lan', dest_ip: '10.0.0.2', proto: 'tcp' }),
      section('hide', 'redirect', { target: 'SNAT', src: 'lan' }),
    ],
    network: [
      section('loopback', 'interface', {}),
      ...['lan', 'iot', 'cams', 'wan', 'guest'].map((name) => section(name, 'interface', {})),
    ],
  };
  const request = () => Promise.resolve({ configs });
  draft = new Draft(new Router({ request } as never));
  await draft.load(['firewall', 'network']);
});

const zoneOf = (name: string) => {
  const found = zonesOf(draft).find((each) => each.name === name);
  if (!found) throw new Error(`there is no zone ${name}`);
  return found;
};

describe('the matrix', () => {
  it('shows the access that the forwardings allow', () => {
    expect(reaches(draft, 'lan', 'wan')).toBe('yes');
    expect(reaches(draft, 'iot', 'lan')).toBe('no');
    draft.add('firewall', 'forwarding', { src: '*', dest: 'wan' });
    expect(reaches(draft, 'iot', 'wan')).toBe('always');
  });

  it('grants access with one forwarding and removes all forwardings', () => {
    connect(draft, 'iot', 'wan', true);
    connect(draft, 'iot', 'wan', true);
    expect(draft.edits).toMatchObject([{ op: 'add', values: { src: 'iot', dest: 'wan' } }]);
    connect(draft, 'iot', 'wan', false);
    connect(draft, 'lan', 'iot', false);
    expect(draft.edits).toEqual([{ config: 'firewall', op: 'delete', section: 'f2' }]);
  });

  it('reads networks as a list or as one string', () => {
    expect(zoneOf('iot').networks).toEqual(['iot', 'cams']);
    expect(unzonedNetworks(draft)).toEqual(['guest']);
  });
});

describe('a guest zone', () => {
  it('reaches the Internet, and only DHCP, DNS and ICMPv6 of the router', () => {
    isolate(draft, { network: 'guest' });
    expect(unzonedNetworks(draft)).toEqual([]);
    const guest = zoneOf('guest');
    expect(guest).toMatchObject({ networks: ['guest'], input: false, within: false });
    expect(['lan', 'iot', 'wan'].map((to) => reaches(draft, 'guest', to))).toEqual([
      'no',
      'no',
      'yes',
    ]);
    expect(isIsolated(draft, guest)).toBe(true);
    const rules = draft.all('firewall', 'rule').map((each) => each.values);
    expect(rules.map((each) => each['dest_port'])).toEqual(['67', '547', '53', undefined]);
    // ICMPv6 types that IPv6 requires, without ping.
    expect(rules[3]).toMatchObject({ proto: 'icmp', family: 'ipv6' });
    expect(rules[3]?.['icmp_type']).toEqual(
      expect.arrayContaining(['router-solicitation', 'neighbour-solicitation', 'packet-too-big']),
    );
    expect(rules[3]?.['icmp_type']).not.toContain('echo-request');
    expect(rules.every((each) => each['src'] === 'guest' && each['dest'] === undefined)).toBe(true);
  });

  it('can be an existing zone, which loses the access to it', () => {
    expect(isIsolated(draft, zoneOf('iot'))).toBe(false);
    isolate(draft, { zone: zoneOf('iot') });
    expect(isIsolated(draft, zoneOf('iot'))).toBe(true);
    expect(reaches(draft, 'lan', 'iot')).toBe('no');
    isolate(draft, { zone: zoneOf('iot') });
    expect(draft.all('firewall', 'rule')).toHaveLength(4);
  });

  it('gets a rule for each service that is not fully allowed', () => {
    const added = (values: Options) => {
      draft.discard();
      draft.add('firewall', 'rule', { src: 'iot', target: 'ACCEPT', ...values });
      isolate(draft, { zone: zoneOf('iot') });
      const names = draft.all('firewall', 'rule').flatMap((each) => each.values['name'] ?? []);
      return names.map((each) => String(each).split('-')[1]).join(' ');
    };
    const dns = { dest_port: '53' };
    const icmp = { proto: 'icmp', icmp_type: ['router-solicitation'] };
    expect(added({ proto: 'all' })).toBe('');
    expect(added(dns)).toBe('DHCP DHCPv6 ICMPv6');
    expect(added({ ...dns, proto: ['tcp', 'udp'], family: 'any' })).toBe('DHCP DHCPv6 ICMPv6');
    expect(added({ proto: 'icmp' })).toBe('DHCP DHCPv6 DNS');
    for (const less of [
      { ...dns, proto: 'udp' },
      { ...dns, family: 'ipv6' },
      { ...dns, enabled: '0' },
      { ...dns, src_ip: '10.0.0.7' },
      { ...dns, start_time: '08:00:00' },
      { ...icmp },
      { proto: 'all', family: 'ipv4', src_mac: '02:00:00:00:00:01' },
    ]) {
      expect(added(less)).toBe('DHCP DHCPv6 DNS ICMPv6');
    }
  });

  it('has a unique name that fw4 accepts', () => {
    expect(zoneName('a-very-long-network', [])).toBe('a_very_long');
    expect(zoneName('5g', [])).toBe('_5g');
    expect(zoneName('lan', zonesOf(draft))).toBe('lan2');
  });
});

describe('a port forward', () => {
  const faults = () => faultsOf(draft).map(({ section, option }) => `${section} ${option}`);
  const whole = { src: 'wan', src_dport: '443', dest: 'lan', dest_ip: '10.0.0.3' };

  it('needs a source zone, a port and a host, and reports each at its field', () => {
    const name = draft.add('firewall', 'redirect', { target: 'DNAT', proto: 'tcp' });
    expect(faultsOf(draft).map(({ option, code }) => [option, code])).toEqual([
      ['src', 'zone-missing'],
      ['src_dport', 'port-missing'],
      ['dest_ip', 'forward-host'],
    ]);
    draft.problems = faultsOf(draft);
    expect(draft.problem('firewall', name, 'dest_ip')).toContain('address of the destination host');
    expect(draft.problem('firewall', name, 'src_dport')).toContain('port');
    expect(draft.problem('firewall', name, 'src')).toBe('Choose a zone.');
    draft.set('firewall', name, whole);
    expect(faults()).toEqual([]);
    draft.set('firewall', name, { dest_ip: '' });
    expect(faults()).toEqual([`${name} dest_ip`]);
  });

  it('leads to the router without host and zone, or by the router’s address', () => {
    const here = () => forwardsOf(draft).map((each) => endsHere(draft, each));
    draft.remove('firewall', 'old');
    draft.set('network', 'lan', { ipaddr: ['10.0.0.1/24', '10.0.9.1'] });
    const name = draft.add('firewall', 'redirect', { src: 'wan', src_dport: '8443' });
    expect([faults(), here()]).toEqual([[], [true]]);
    for (const host of ['10.0.0.1', '10.0.9.1/32']) {
      draft.set('firewall', name, { dest_ip: host });
      expect([faults(), here()]).toEqual([[], [true]]);
    }
    draft.set('firewall', name, { dest_ip: '10.0.0.3' });
    expect([faults(), here()]).toEqual([[], [false]]);
    draft.set('firewall', name, { dest: 'lan', dest_ip: '' });
    expect(faults()).toEqual([`${name} dest_ip`]);
  });

  it('has any target except SNAT, like fw4', () => {
    draft.remove('firewall', 'old');
    for (const target of ['dnat', 'DNAT', 'drop', 'Snat', 'sn', '']) {
      draft.add('firewall', 'redirect', { target });
    }
    const targets = forwardsOf(draft).map((each) => each.values.target);
    expect(targets).toEqual(['dnat', 'DNAT', 'drop', undefined]);
  });

  it('needs a port with TCP and UDP only', () => {
    const name = draft.add('firewall', 'redirect', { ...whole, src_dport: '', proto: 'icmp' });
    expect(faults()).toEqual([]);
    draft.set('firewall', name, { proto: 'tcp udp' });
    expect(faults()).toEqual([`${name} src_dport`]);
    draft.set('firewall', name, { proto: ['udp'] });
    expect(faults()).toEqual([`${name} src_dport`]);
    draft.set('firewall', name, { proto: '' });
    expect(faults()).toEqual([`${name} src_dport`]);
  });

  it('is checked only if edited and enabled', () => {
    expect(faults()).toEqual([]);
    draft.set('firewall', 'old', { name: 'web' });
    expect(faults()).toEqual([]);
    draft.set('firewall', 'old', { dest_ip: '' });
    expect(faults()).toEqual(['old dest_ip']);
    draft.set('firewall', 'old', { enabled: '0' });
    expect(faults()).toEqual([]);
    draft.set('firewall', 'hide', { name: 'x' });
    draft.add('firewall', 'zone', { name: 'x' });
    expect(faults()).toEqual([]);
  });
});

it('counts the enabled firewall rules, which the matrix does not show', () => {
  const before = rulesOf(draft);
  draft.add('firewall', 'rule', { name: 'Allow-Ping', target: 'ACCEPT' });
  draft.add('firewall', 'rule', { name: 'Old', target: 'ACCEPT', enabled: '0' });
  expect(rulesOf(draft)).toBe(before + 1);
});

describe('rules that open an isolated zone', () => {
  const rule = (values: Options) => draft.add('firewall', 'rule', { target: 'ACCEPT', ...values });
  const redirect = (values: Options) =>
    draft.add('firewall', 'redirect', { src: 'wan', dest_ip: '10.0.30.5', ...values });
  const ways = () => rulesInto(draft, zoneOf('guest')).length;

  beforeEach(() => {
    isolate(draft, { network: 'guest' });
    draft.remove('firewall', 'old');
  });

  it.each([
    ['a rule from another zone', () => rule({ src: 'lan', dest: 'guest' })],
    ['a rule from every zone', () => rule({ src: '*', dest: 'guest' })],
    ['a rule to every zone', () => rule({ src: 'lan', dest: '*' })],
    ['a rule in small letters', () => rule({ src: 'lan', dest: 'guest', target: 'accept' })],
    ['a port forward', () => redirect({ dest: 'guest' })],
    ['a port forward to an address', () => redirect({})],
  ])('include %s', (_, add) => {
    expect(ways()).toBe(0);
    add();
    expect(ways()).toBe(1);
    expect(isIsolated(draft, zoneOf('guest'))).toBe(true);
  });

  it('exclude rules that grant no access', () => {
    rule({ src: 'lan', dest: 'guest', enabled: '0' });
    rule({ src: 'lan', dest: 'guest', target: 'REJECT' });
    rule({ src: 'lan', dest: 'iot' });
    rule({ src: 'guest', dest: 'wan' });
    rule({ src: 'lan' });
    redirect({ dest: 'lan' });
    redirect({ dest: 'guest', target: 'SNAT' });
    redirect({ dest: 'guest', enabled: '0' });
    expect(ways()).toBe(0);
  });

  it('are not needed if fw4 forwards between all zones', () => {
    draft.add('firewall', 'defaults', { forward: 'ACCEPT' });
    expect(reaches(draft, 'lan', 'guest')).toBe('always');
    expect(isIsolated(draft, zoneOf('guest'))).toBe(false);
  });
});
