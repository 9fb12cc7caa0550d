// SPDX-License-Identifier: GPL-2.0-or-later
import { test } from './fixture';
import { PHONE, Touch } from './hands';
import { standaloneOnly } from './place';
import { tasks } from './tasks';
import { ownerTasks } from './tasks-owner';

standaloneOnly();

test.use({ viewport: PHONE, hasTouch: true, isMobile: true });

for (const { title, inspected = false, prepare, perform } of [...ownerTasks, ...tasks]) {
  test.describe(() => {
    test.use({ inspected });
    test(`on a phone: ${title}`, async ({ page, router, lan, lab }) => {
      const place = { page, router, lan, lab };
      await prepare?.(place);
      await page.goto('#/overview');
      const input = new Touch(page);
      await input.logIn();
      await perform(input, place);
    });
  });
}
