// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { rank, type Found } from './rank';

const found = (
  id: string,
  kind: Found['kind'],
  title: string,
  more: Partial<Found> = {},
): Found => ({
  ...{ id, kind, title, act: () => undefined },
  ...more,
});

const all = [
  found('overview', 'screens', 'Übersicht', { offered: true }),
  found('flows', 'screens', 'Flows', { offered: true }),
  found('budget', 'settings', 'Budget per connection, packets', { detail: 'Protection' }),
  found('block', 'settings', 'Block duration', { detail: 'Protection' }),
  found('nas', 'hosts', 'nas', { detail: '10.10.10.20 · lan1', keywords: '52:54:00:00:00:20' }),
  found('any', 'hosts', 'Show flows with “x”', { always: true }),
  found('off', 'commands', 'Switch the engine to Off'),
];
const ids = (text: string) => rank(all, text).map(({ items }) => items.map(({ id }) => id));

it('offers screens before a text is typed', () => {
  expect(ids(' ')).toEqual([['overview', 'flows']]);
});

it('ignores case and accents', () => {
  expect(ids('UBERS')).toEqual([['overview'], ['any']]);
});

it('requires every word in the title, the detail or the keywords', () => {
  expect(ids('packets protection')).toEqual([['budget'], ['any']]);
  expect(ids('engine nothing')).toEqual([['any']]);
  expect(ids('00:20')).toEqual([['nas', 'any']]);
});

it('sorts kinds and entries by the best match', () => {
  expect(ids('protection')).toEqual([['budget', 'block'], ['any']]);
  expect(ids('off')).toEqual([['off'], ['any']]);
  expect(
    rank([...all, found('nas 2', 'hosts', 'my nas')], 'nas')[0]?.items.map(({ id }) => id),
  ).toEqual(['nas', 'nas 2', 'any']);
});

it('limits the entries of a kind', () => {
  const many = Array.from({ length: 300 }, (_, n) => found(`host ${n}`, 'hosts', `host${n}`));
  expect(rank(many, 'host')[0]?.items).toHaveLength(8);
});
