// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import type { Options, Section } from '../form/sections';
import * as features from './features';

const section = (name: string, type: string, values: Options): Section => ({
  section: name,
  type,
  anonymous: false,
  values,
});

const TYPES = '../../../../feeds/fastpathd/src/crates/model/src/traffic.rs';

let draft: Draft;

beforeEach(async () => {
  const configs = {
    fastpath: [
      section('main', 'fastpath', { enabled: '1', ignore_device: ['lan4'] }),
      section('nas', 'exclude', { name: 'nas', src: '10.0.0.0/8' }),
    ],
    firewall: [
      section('cfg01', 'defaults', {}),
      section('lan', 'zone', { name: 'lan', helper: ['ftp', 'RAS', 'Q.931'] }),
    ],
  };
  const request = () => Promise.resolve({ configs });
  draft = new Draft(new Router({ request } as never));
  await draft.load(['fastpath', 'firewall']);
});

describe('ports', () => {
  it('can be excluded and included', () => {
    expect(features.isExcluded(draft, 'lan4')).toBe(true);
    features.setPort(draft, 'lan1', false);
    features.setPort(draft, 'lan4', true);
    expect(draft.edits).toEqual([
      { config: 'fastpath', op: 'set', section: 'main', values: { ignore_device: ['lan1'] } },
    ]);
    features.setPort(draft, 'lan1', true);
    features.setPort(draft, 'lan4', false);
    expect(draft.edits).toEqual([]);
  });
});

describe('traffic types', () => {
  const links = [
    { name: 'wg0', kind: 'wireguard', lowest: true },
    { name: 'wg1', kind: 'wireguard', lowest: true },
    { name: 'gre0', kind: 'gre', lowest: false },
    { name: 'lan1', kind: 'ethernet', lowest: true },
  ];

  it('offers switches for the router’s tunnels and for tunnels that are off', () => {
    expect(features.tunnelsOf(draft, links)).toEqual([
      { kind: 'wireguard', devices: ['wg0', 'wg1'] },
    ]);
    features.setTunnel(draft, 'sit', false);
    expect(features.tunnelsOf(draft, []).map(({ kind }) => kind)).toEqual(['sit']);
  });

  it('keep a kind of tunnel on the slow path', () => {
    features.setTunnel(draft, 'wireguard', false);
    features.setTunnel(draft, 'wireguard', false);
    expect(draft.edits).toEqual([
      { config: 'fastpath', op: 'set', section: 'main', values: { slow_tunnel: ['wireguard'] } },
    ]);
    expect(features.isOffloaded(draft, 'wireguard')).toBe(false);
    expect(features.isOffloaded(draft, 'gre')).toBe(true);
    expect(features.isOffloadedOnRouter(draft, 'wireguard')).toBe(true);
    features.setTunnel(draft, 'wireguard', true);
    expect(draft.edits).toEqual([]);
  });

  it('are offloaded unless their option is off', () => {
    expect(features.isOffloaded(draft, 'ipv6')).toBe(true);
    draft.set('fastpath', 'main', { ipv6: '0' });
    expect(features.isOffloaded(draft, 'ipv6')).toBe(false);
  });

  it('match the types in traffic.rs', () => {
    const types = readFileSync(new URL(TYPES, import.meta.url), 'utf8');
    const names = [...types.matchAll(/^ {8}\w+ = "(\w+)",$/gm)].map(([, name]) => name);
    expect(names).toEqual([
      'ipv4',
      'ipv6',
      'vlan',
      'pppoe',
      ...Object.keys(features.tunnels).sort(),
    ]);
  });
});

describe('helpers', () => {
  it('are assigned by fw4 to all zones by default', () => {
    expect(features.automatic(draft)).toBe(true);
    features.setAutomatic(draft, false);
    expect(features.automatic(draft)).toBe(false);
  });

  it('are assigned to a zone by fw4’s names', () => {
    const zone = () => draft.all('firewall', 'zone')[0] as Section;
    expect(features.helpers.filter((each) => features.hasHelper(zone(), each))).toEqual([
      'ftp',
      'h323',
    ]);
    features.setHelper(draft, zone(), 'h323', false);
    features.setHelper(draft, zone(), 'sip', true);
    expect(zone().values['helper']).toEqual(['ftp', 'sip']);
  });
});
