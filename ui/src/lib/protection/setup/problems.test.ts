// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import type { Section } from '../../form/sections';
import { anIps } from '../examples';
import { isNetwork } from './network';
import { parseBytes, writeBytes } from './options';
import { problemAt, problemsOf } from './problems';
import { hiddenBy } from './shadow';

const section = (type: string, values: Section['values'], name = type): Section => ({
  section: name,
  type,
  anonymous: type === 'policy',
  values,
});
const places = anIps().policy;
const wrong = (type: string, values: Section['values'], name?: string, isNew = false) =>
  problemsOf([section(type, values, name)], places, isNew ? () => undefined : undefined).map(
    (each) => each.option,
  );

describe('problems', () => {
  const problems = [
    { config: 'fastpath', section: 'ips', option: 'budget_bytes', code: 'fastpathd', text: 'no' },
    { config: 'fastpath', section: 'et', option: '', code: 'missing', text: 'no' },
  ];

  it('are shown at their options, in the page’s language where it has a message', () => {
    expect(problemAt(problems, 'ips', 'budget_bytes')).toBe('no');
    expect(problemAt(problems, 'et')).toBe('A value is required.');
    expect(problemAt(problems, 'ips', 'mode')).toBe('');
  });
});

describe('problems found without asking the router', () => {
  it('lets good values pass', () => {
    const good = { enabled: '1', budget_bytes: '0', exempt: ['10.0.0.0/8', 'fd00::/8'] };
    expect(wrong('ips', good)).toEqual([]);
    expect(wrong('policy', { src: 'iot', dest: '*', src_vlan: '20', name: 'x' })).toEqual([]);
    expect(wrong('update', { hour: '-1' })).toEqual([]);
    expect(wrong('main', { engine: 'warp' })).toEqual([]);
  });

  it.each([
    [{ budget_bytes: '-1' }, 'budget_bytes'],
    [{ budget_bytes: '4 GiB' }, 'budget_bytes'],
    [{ budget_packets: '1.5' }, 'budget_packets'],
    [{ block_time: '0' }, 'block_time'],
    [{ exempt: ['10.0.0.1', 'cellar'] }, 'exempt'],
    [{ block_exempt: ['10.0.0.0/33'] }, 'block_exempt'],
    [{ enabled: '1', mode: 'inline', device: ['lan1'] }, 'device'],
    [{ enabled: 'yes', mode: 'ids' }, 'device'],
  ])('finds %j', (options, option) => {
    expect(wrong('ips', options as Section['values'])).toEqual([option]);
  });

  it('knows zones and VLANs', () => {
    expect(wrong('policy', { src: 'cellar' })).toEqual(['src']);
    expect(wrong('policy', { dest_vlan: '4095' })).toEqual(['dest_vlan']);
    expect(wrong('policy', { name: 'x'.repeat(65) })).toEqual(['name']);
  });

  it('asks every source for a proof', () => {
    const url = 'https://rules.example.net/a.tar.gz';
    const plain = 'http://rules.example.net/a.tar.gz';
    expect(wrong('rules', { url })).toEqual(['unverified']);
    expect(wrong('rules', { url, unverified: '1' })).toEqual([]);
    expect(wrong('rules', { url: plain, unverified: '1' })).toEqual(['unverified']);
    expect(wrong('rules', { url: plain, sha256: 'ab'.repeat(32) })).toEqual([]);
    expect(wrong('rules', { url, sha256: 'ab' })).toEqual(['sha256']);
    expect(wrong('rules', { url, sha256_url: 'http://x/sum' })).toEqual(['sha256_url']);
    expect(wrong('rules', { url, signature_url: `${url}.sig` })).toEqual(['key']);
    expect(wrong('rules', { url: 'javascript:alert(1)', unverified: '1' })).toContain('url');
  });

  it('names new sources as uci can', () => {
    const proven = { url: 'https://x.example', unverified: '1' };
    expect(wrong('rules', proven, 'et_open', true)).toEqual([]);
    expect(wrong('rules', proven, 'et open', true)).toEqual(['name']);
    expect(wrong('rules', proven, 'fastpath x', true)).toEqual(['name']);
  });
});

it('lets a masked address stand, and asks for the password of one that is edited', () => {
  const at = (path: string) =>
    section('rules', { url: `https://ann:•••@h.example/${path}`, unverified: '1' }, 'et');
  const found = (path: string) => problemsOf([at(path)], places, () => at('old'));
  expect(found('old')).toEqual([]);
  expect(found('new').map((each) => each.option)).toEqual(['url']);
});

it('asks no address of the rules that come with fastpath', () => {
  expect(wrong('rules', { disable: ['8100001'] }, 'fastpath')).toEqual([]);
});

describe('networks', () => {
  it.each(['10.0.0.1', '10.0.0.0/8', '::', '::1', 'fe80::/10', '2001:db8:1:2:3:4:5:6/128'])(
    'takes %s',
    (text) => expect(isNetwork(text)).toBe(true),
  );
  it.each([
    '',
    '10.0.0',
    '10.0.0.256',
    '010.0.0.1',
    '10.0.0.1/33',
    '10.0.0.1/',
    '::/129',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    'g::',
    'host.example',
    '10.0.0.1/8/8',
  ])('refuses %s', (text) => expect(isNetwork(text)).toBe(false));
  it('knows the mixed form', () => expect(isNetwork('::ffff:10.0.0.1')).toBe(true));
});

describe('bytes', () => {
  it.each([
    ['1 MiB', 1_048_576],
    ['1M', 1_000_000],
    ['512 kB', 512_000],
    ['0', 0],
    ['1.5 MiB', 1_572_864],
    ['3', 3],
    ['-1', null],
    ['4 GiB', null],
    ['much', null],
    ['1.5', null],
  ])('reads %s', (text, bytes) => expect(parseBytes(text)).toBe(bytes));

  it('writes the same text that it reads', () => {
    expect(writeBytes('1048576')).toBe('1 MiB');
    expect(writeBytes('1000000')).toBe('1000000');
    expect(writeBytes('0')).toBe('0');
    expect(writeBytes('much')).toBe('much');
    for (const text of ['1 GiB', '7 KiB', '3 MiB']) {
      expect(writeBytes(String(parseBytes(text)))).toBe(text);
    }
  });
});

it('says which policy is never reached, and why', () => {
  const any = section('policy', {}, 'any');
  const iot = section('policy', { src: 'iot' }, 'iot');
  const wan = section('policy', { src: 'iot', dest: 'wan' }, 'wan');
  const off = section('policy', { enabled: 'off' }, 'off');
  expect(hiddenBy([iot, wan, any])).toEqual([0, 1, 0]);
  expect(hiddenBy([wan, iot, any])).toEqual([0, 0, 0]);
  expect(hiddenBy([off, any, iot])).toEqual([0, 0, 2]);
  expect(hiddenBy([section('policy', { src: '*' }, 'star'), off])).toEqual([0, 0]);
});
