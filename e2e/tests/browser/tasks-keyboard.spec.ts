// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from './fixture';
import { Keyboard } from './hands';
import { onlyByItself } from './place';
import { tasks } from './tasks';

onlyByItself();

for (const { title, inspected = false, prepare, perform } of tasks) {
  test.describe(() => {
    test.use({ inspected });
    test(`by keyboard: ${title}`, async ({ page, router, lan, lab }) => {
      const place = { page, router, lan, lab };
      await prepare?.(place);
      await page.goto('#/overview');
      const hands = new Keyboard(page);
      await hands.logIn();
      await perform(hands, place);
    });
  });
}
