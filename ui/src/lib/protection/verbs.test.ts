// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, expect, it } from 'vitest';
import type { Alert } from '../api/types';
import { Draft } from '../form/draft.svelte';
import type { Files } from '../form/sections';
import {
  block,
  blocksSenders,
  canDisable,
  disable,
  exempt,
  isBlocked,
  isDisabled,
  isExempt,
} from './verbs';

let files: Files;
let draft: Draft;

const section = (type: string, name: string, values = {}) => ({
  section: name,
  type,
  anonymous: false,
  values,
});
const alert = (sid: number, gid = 1) => ({ sid, gid }) as Alert;

async function read(given: Files) {
  files = given;
  draft = new Draft({ ask: () => Promise.resolve({ configs: files }) } as never);
  await draft.load(Object.keys(files));
}

beforeEach(() => read({ fastpath: [section('ips', 'ips')], firewall: [] }));

it('disables a built-in rule in a separate section', () => {
  expect(isDisabled(draft, alert(8_100_001))).toBe(false);
  disable(draft, alert(8_100_001));
  disable(draft, alert(8_100_002));
  disable(draft, alert(8_100_001));
  expect(draft.edits).toEqual([
    {
      config: 'fastpath',
      op: 'add',
      type: 'rules',
      section: 'fastpath',
      values: { disable: ['8100001', '8100002'] },
    },
  ]);
  expect(isDisabled(draft, alert(8_100_001))).toBe(true);
});

it('disables a rule in every source that may contain it', async () => {
  expect(canDisable(draft, alert(2_012_345))).toBe(false);
  const sources = [
    section('rules', 'et', { disable: ['1'] }),
    section('rules', 'own_list'),
    section('rules', 'fastpath'),
  ];
  await read({ fastpath: sources, firewall: [] });
  disable(draft, alert(2_012_345));
  const set = (name: string, list: string[]) => ({
    config: 'fastpath',
    op: 'set',
    section: name,
    values: { disable: list },
  });
  expect(draft.edits).toEqual([set('et', ['1', '2012345']), set('own_list', ['2012345'])]);
});

it('cannot disable decoder events', () => {
  expect(canDisable(draft, alert(8_100_001, 116))).toBe(false);
});

it('adds an address once to the lists of exemptions', async () => {
  await read({ fastpath: [section('ips', 'ips', { exempt: '10.0.0.1 10.0.0.2' })], firewall: [] });
  expect(isExempt(draft, '10.0.0.2', 'exempt')).toBe(true);
  for (const address of ['10.0.0.2', '2001:db8::1']) exempt(draft, address, 'exempt');
  exempt(draft, '203.0.113.9', 'block_exempt');
  expect(draft.edits).toEqual([
    {
      config: 'fastpath',
      op: 'set',
      section: 'ips',
      values: { exempt: ['10.0.0.1', '10.0.0.2', '2001:db8::1'], block_exempt: ['203.0.113.9'] },
    },
  ]);
});

it('blocks an address in both directions, once', () => {
  block(draft, '203.0.113.9');
  block(draft, '203.0.113.9');
  expect(isBlocked(draft, '203.0.113.9')).toBe(true);
  const rule = { src: '*', dest: '*', proto: 'all', target: 'DROP', name: 'Block-203.0.113.9' };
  expect(draft.all('firewall', 'rule').map(({ values }) => values)).toEqual([
    { ...rule, src_ip: '203.0.113.9' },
    { ...rule, dest_ip: '203.0.113.9' },
  ]);
  const [one] = draft.all('firewall', 'rule');
  draft.set('firewall', one?.section ?? '', { enabled: '0' });
  expect(isBlocked(draft, '203.0.113.9')).toBe(false);
});

it('reports whether senders are blocked', async () => {
  expect(blocksSenders(draft)).toBe(false);
  await read({ fastpath: [section('ips', 'ips', { block: '1' })], firewall: [] });
  expect(blocksSenders(draft)).toBe(true);
});
