// SPDX-License-Identifier: GPL-2.0-or-later
import { flushSync } from 'svelte';
import { expect, test } from 'vitest';
import { setLanguage, translated } from './t';

const title = () => translated('health/findings', 'system.system-clock.title');

test('updates a text when its messages arrive', async () => {
  await setLanguage('de');
  const seen: (string | undefined)[] = [];
  const end = $effect.root(() => {
    $effect(() => {
      seen.push(title());
    });
  });
  flushSync();
  await expect.poll(() => (flushSync(), seen.at(-1))).toBeTypeOf('string');
  expect(seen.length).toBeLessThanOrEqual(2);
  end();
  await setLanguage('en');
});
