// SPDX-License-Identifier: GPL-2.0-or-later
import { afterEach, expect, it } from 'vitest';
import type { Flow } from '../api/types';
import { setLanguage } from '../i18n/t';
import { entriesOf, factsOf, type PpeEntry } from './ppe';

const entry: PpeEntry = {
  table: 'ppe0',
  index: 0x2b41,
  state: 'BND',
  kind: 'IPv4 5T',
  direction: 'down',
  original: { src: '198.51.100.7', sport: 443, dst: '203.0.113.2', dport: 50000 },
  new: { src: '198.51.100.7', sport: 443, dst: '192.168.1.20', dport: 50000 },
};

afterEach(() => setLanguage('en'));

it('asks for the entries with the addresses and ports of the flow only', async () => {
  const tuple = { proto: 'tcp', ...entry.original, nat_src: 'a', nat_sport: 1, nat_dst: 'b' };
  const flow = { ...tuple, nat_dport: 2, id: 7, path: 'hardware' } as Flow;
  const calls: unknown[] = [];
  const request = (...call: unknown[]) => {
    calls.push(call.slice(0, 3));
    return Promise.resolve({ entries: [entry] });
  };
  expect(await entriesOf({ request }, flow)).toEqual([entry]);
  expect(calls).toEqual([['fastpath.doctor', 'ppe', { ...tuple, nat_dport: 2 }]]);
});

it('a missing table is a refusal with the reason', async () => {
  await setLanguage('de');
  const cause = { code: 'no-debugfs', params: {} };
  const error = { code: 'none', text: 'debugfs is not mounted', cause };
  const request = () => Promise.resolve({ error });
  const refused = entriesOf({ request }, {} as Flow);
  await expect(refused).rejects.toThrow('debugfs ist nicht eingehängt.');
});

it('an entry is shown with both tuples as the driver prints it', () => {
  expect(factsOf(entry).map(({ text }) => text)).toEqual([
    'ppe0 02b41 · IPv4 5T',
    '198.51.100.7:443 → 203.0.113.2:50000',
    '198.51.100.7:443 → 192.168.1.20:50000',
  ]);
  expect(factsOf(entry)[0]?.note).toBe('the chip forwards these packets (BND)');
});

it('an unbound entry is not shown as forwarded by the chip', () => {
  const facts = factsOf({ ...entry, state: 'UNB', new: null });
  expect(facts).toHaveLength(2);
  expect(facts[0]?.note).toBe('the chip passes these packets to the CPU (UNB)');
});
