// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import { text, type Options, type Section } from '../form/sections';
import * as features from './features';

const section = (name: string, type: string, values: Options): Section => ({
  section: name,
  type,
  anonymous: false,
  values,
});

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

describe('IPv6', () => {
  it('stays on the slow path with exactly one exclusion', () => {
    expect(features.offloadsIpv6(draft)).toBe(true);
    features.setIpv6Offload(draft, false);
    features.setIpv6Offload(draft, false);
    expect(draft.edits).toMatchObject([
      { op: 'add', type: 'exclude', values: { name: 'IPv6', src: '::/0' } },
    ]);
    expect(features.offloadsIpv6(draft)).toBe(false);
    expect(features.excludes(draft).map((each) => each.section)).toEqual(['nas']);
    features.setIpv6Offload(draft, true);
    expect(draft.edits).toEqual([]);
  });

  it.each(['src_port', 'slow_packets'])('may be offloaded despite an exclusion by %s', (option) => {
    draft.add('fastpath', 'exclude', { name: 'some', src: '::/0', [option]: '20' });
    expect(features.offloadsIpv6(draft)).toBe(true);
    expect(features.excludes(draft).map((each) => text(each, 'name'))).toEqual(['nas', 'some']);
  });

  it('may be offloaded if only some flows are excluded', () => {
    draft.add('fastpath', 'exclude', { src: '::/0', dest_port: '53' });
    expect(features.offloadsIpv6(draft)).toBe(true);
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
