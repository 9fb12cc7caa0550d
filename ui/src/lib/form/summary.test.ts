// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import type { Line } from './change.svelte';
import type { Value } from './sections';
import { changesOf, intentsOf, summaryOf } from './summary';

const base: Line = {
  config: 'firewall',
  section: null,
  type: null,
  option: null,
  from: null,
  to: null,
};
const line = (of: Partial<Line>): Line => ({ ...base, ...of });
const zone = { section: 'guest', label: 'guest', type: 'zone' } as const;

describe('a diff as text', () => {
  it('names a new section and its options once', () => {
    const lines = [
      line({ ...zone, what: 'add' }),
      line({ ...zone, what: 'set', option: 'input', to: 'REJECT' }),
      line({ ...zone, what: 'set', option: 'masq', to: '1' }),
      line({ ...zone, what: 'set', option: 'network', to: ['guest', 'iot'] }),
    ];
    expect(changesOf(lines)).toEqual([
      {
        kind: 'add',
        title: 'Zone guest: added',
        values: [
          { name: 'To the router', text: 'REJECT' },
          { name: 'Masquerading', text: 'On' },
          { name: 'Interfaces', text: 'guest, iot' },
        ],
        further: 0,
      },
    ]);
  });

  it('shows the old and the new value of an option by the name of its field', () => {
    const wan = { config: 'network', section: 'wan', label: 'wan', type: 'interface' } as const;
    const [found] = changesOf([
      line({ ...wan, what: 'set', option: 'proto', from: 'dhcp', to: 'pppoe' }),
      line({ ...wan, what: 'set', option: 'username', to: 'user@isp' }),
      line({ ...wan, what: 'set', option: 'mtu', from: '1492' }),
    ]);
    expect(found).toEqual({
      kind: 'set',
      title: 'Interface wan',
      values: [
        { name: 'Protocol', text: 'DHCP → PPPoE' },
        { name: 'User name', text: '(not set) → user@isp' },
        { name: 'MTU', text: '1492 → (not set)' },
      ],
      further: 0,
    });
  });

  it('omits options of a removed section and positions of anonymous ones', () => {
    const rule = { section: 'cfg0a', label: '@rule[2]', type: 'rule' } as const;
    const lines = [
      line({ ...rule, what: 'remove' }),
      line({ ...rule, what: 'set', option: 'src', from: 'wan' }),
      line({ config: 'network', section: 'r1', label: '@rule[0]', type: 'rule', what: 'add' }),
      line({ ...zone, what: 'rename', from: 'guest', to: 'visitors' }),
      line({ what: 'order' }),
      line({ config: 'other', section: 'x', label: 'x', type: 'thing', what: 'add' }),
    ];
    expect(changesOf(lines).map(({ title, values }) => [title, values.length])).toEqual([
      ['Firewall rule: removed', 0],
      ['Routing rule: added', 0],
      ['Zone guest: renamed to visitors', 0],
      ['File firewall: order changed', 0],
      ['other.thing x: added', 0],
    ]);
  });

  it('names a forwarding by its zones', () => {
    const of = (what: 'add' | 'remove', from: string | null, to: string | null) => {
      const base = { section: 'cfg0b', label: '@forwarding[1]', type: 'forwarding' } as const;
      const value = (option: string, zone: string) =>
        line({ ...base, what: 'set', option, from: from && zone, to: to && zone });
      return [line({ ...base, what }), value('dest', 'wan'), value('src', 'lan')];
    };
    expect(changesOf(of('add', null, 'x'))[0]?.title).toBe('Forwarding lan → wan: added');
    expect(changesOf(of('remove', 'x', null))[0]?.title).toBe('Forwarding lan → wan: removed');
  });

  it('names the options of rules by file', () => {
    const of = (config: string) =>
      line({ config, section: 'r', label: 'r', type: 'rule', option: 'src', what: 'set', to: 'a' });
    const names = changesOf([of('firewall'), of('network')]).map(({ values }) => values[0]?.name);
    expect(names).toEqual(['Source zone', undefined]);
  });

  it('counts options without a field instead of writing their keys', () => {
    const pool = { config: 'dhcp', section: 'guest', label: 'guest', type: 'dhcp' } as const;
    const [found] = changesOf([
      line({ ...pool, what: 'add' }),
      line({ ...pool, what: 'set', option: 'ra_flags', to: ['managed-config'] }),
      line({ ...pool, what: 'set', option: 'start', to: '100' }),
    ]);
    expect(found).toMatchObject({ values: [{ name: 'First address', text: '100' }], further: 1 });
  });

  it('describes changes of VLAN membership in words', () => {
    const vlan = { config: 'network', section: 'v10', label: 'br-lan 10', type: 'bridge-vlan' };
    const ports = (from: string[] | null, to: string[]) =>
      changesOf([line({ ...vlan, what: 'set', option: 'ports', from, to })])[0]?.values[0]?.text;
    expect(ports(['lan1:u*', 'lan3:u*'], ['lan1:u*'])).toBe('lan3: untagged → not a member');
    expect(ports(['lan1'], ['lan1:t', 'lan2:t*'])).toBe(
      'lan1: untagged → tagged, lan2: not a member → tagged',
    );
  });

  it('summarises a new VLAN in a sentence', () => {
    const add = (config: string, type: string, section: string, values: Record<string, Value>) => [
      line({ config, type, section, label: section, what: 'add' }),
      ...Object.entries(values).map(([option, to]) =>
        line({ config, type, section, label: section, what: 'set', option, to }),
      ),
    ];
    const lines = [
      ...add('network', 'bridge-vlan', 'v30', { device: 'br-lan', vlan: '30', ports: ['lan3:t'] }),
      ...add('network', 'interface', 'guest', { device: 'br-lan.30', ipaddr: ['10.10.30.1/24'] }),
      ...add('dhcp', 'dhcp', 'guest', { interface: 'guest', start: '100' }),
    ];
    expect(intentsOf(lines)).toEqual(['VLAN 30 guest, 10.10.30.1/24, DHCP, lan3 tagged']);
    expect(intentsOf(lines.slice(0, 3))).toEqual(['VLAN 30']);
    expect(intentsOf([])).toEqual([]);
  });

  it('separates sections of the same name in different files', () => {
    const of = (config: string, type: string) =>
      line({ config, section: 'guest', label: 'guest', type, what: 'add' });
    const titles = changesOf([of('network', 'interface'), of('dhcp', 'dhcp')]);
    expect(titles.map(({ title }) => title)).toEqual([
      'Interface guest: added',
      'DHCP server guest: added',
    ]);
  });

  it('accepts lines of an older router', () => {
    const old = { ...base, config: 'network', section: 'lan', type: 'interface' };
    expect(changesOf([old, { ...old, option: 'mtu', to: '1400' }])).toEqual([
      {
        kind: 'add',
        title: 'Interface lan: added',
        values: [{ name: 'MTU', text: '1400' }],
        further: 0,
      },
    ]);
  });

  it('is shortened to one line', () => {
    const of = (name: string) => line({ section: name, label: name, type: 'zone', what: 'add' });
    expect(summaryOf([of('a')])).toBe('Zone a: added');
    expect(summaryOf(['a', 'b', 'c'].map(of))).toBe(
      'Zone a: added · Zone b: added · Zone c: added',
    );
    expect(summaryOf(['a', 'b', 'c', 'd'].map(of))).toBe(
      'Zone a: added · Zone b: added and 2 more',
    );
    expect(summaryOf([])).toBe('');
  });
});
