// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import type { FlowEvent, HostMove } from '../api/types';
import { history } from './history';

const event = (at_ms: number, path: FlowEvent['path']): FlowEvent => ({
  at_ms,
  path,
  reason: '',
  state: '',
});
const move = (at_ms: number): HostMove => ({
  at_ms,
  kind: 'port',
  address: '10.10.10.10',
  from: 'lan1',
  to: 'lan3',
});

it('lists moves of hosts with the path at the time', () => {
  const steps = history([event(1, 'slow'), event(3, 'flowtable')], [move(2), move(5)]);
  expect(steps.map((step) => [step.at_ms, step.event.path, step.move?.to])).toEqual([
    [1, 'slow', undefined],
    [2, 'slow', 'lan3'],
    [3, 'flowtable', undefined],
    [5, 'flowtable', 'lan3'],
  ]);
});

it('is empty without a path', () => {
  expect(history([], [move(1)])).toEqual([]);
});
