// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from './fixture';
import { Mouse } from './hands';
import { standaloneOnly } from './place';
import { ownerTasks } from './tasks-owner';

standaloneOnly();

for (const { title, inspected = false, prepare, perform } of ownerTasks) {
  test.describe(() => {
    test.use({ inspected });
    test(`by mouse: ${title}`, async ({ page, router, lan, lab }) => {
      const place = { page, router, lan, lab };
      await prepare?.(place);
      await page.goto('#/overview');
      const input = new Mouse(page);
      await input.logIn();
      await perform(input, place);
    });
  });
}
