// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from 'vitest';
import type { App } from '../shell/app.svelte';
import { d } from './messages';
import { Verbs } from './verbs.svelte';

function verbs(answer: Record<string, unknown>) {
  const asked: unknown[] = [];
  let reads = 0;
  const api = {
    request: (...call: unknown[]) => {
      asked.push(call.slice(0, 3));
      return Promise.resolve(answer);
    },
  };
  const app = { api, ubus: { session: '1' }, live: { report: () => undefined } };
  const made = new Verbs({ ...app, storage: {} } as unknown as App, () => {
    reads += 1;
    return Promise.resolve();
  });
  return { made, asked, reads: () => reads };
}

test('a pause names its end, and the devices are read again', async () => {
  const { made, asked, reads } = verbs({});
  await made.pause({ group: 'children' }, 1_796_029_453, 'until');
  await made.resume({ mac: '02:00:00:00:00:01' });
  expect(asked).toEqual([
    ['fastpath.device', 'pause', { group: 'children', until_s: 1_796_029_453 }],
    ['fastpath.device', 'resume', { mac: '02:00:00:00:00:01' }],
  ]);
  expect([reads(), made.outcome, made.failed, made.busy]).toEqual([2, d('resumed'), false, false]);
});

test('a refusal is said, and nothing is read', async () => {
  const error = { code: 'invalid', text: 'at most 512 devices' };
  const { made, reads } = verbs({ error });
  await made.set('02:00:00:00:00:01', { name: 'tv' });
  expect([reads(), made.failed, made.outcome]).toEqual([
    ...[0, true, d('refused', { text: error.text })],
  ]);
});
