// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { RequestPace } from './pace';

/** Creates a pace with a clock that advances only during `sleep`. */
function paced() {
  let now = 0;
  const sleep = (ms: number) => {
    now += ms;
    return Promise.resolve();
  };
  return {
    pace: new RequestPace(() => now, sleep),
    time: () => now,
    advance: (ms: number) => (now += ms),
  };
}

it('allows a burst and then three requests a second', async () => {
  const { pace, time } = paced();
  for (let i = 0; i < 6; i++) await pace.turn();
  expect(time()).toBe(0);
  for (let i = 0; i < 20; i++) await pace.turn();
  expect(time()).toBeCloseTo(20_000 / 3, 0);
});

it('accumulates no more than one burst', async () => {
  const { pace, time, advance } = paced();
  advance(60_000);
  for (let i = 0; i < 8; i++) await pace.turn();
  expect(time() - 60_000).toBeCloseTo(2000 / 3, 0);
});

it('gives the token of an aborted turn to the next one', async () => {
  const { pace, time } = paced();
  for (let i = 0; i < 6; i++) await pace.turn();
  const stop = new AbortController();
  stop.abort();
  await expect(pace.turn(stop.signal)).rejects.toThrow();
  await pace.turn();
  expect(time()).toBeCloseTo(1000 / 3, 0);
});
