// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from '@playwright/test';
import { replay } from './replay';
import { entered, shown } from './screens';

const words = {
  'en-GB': 'Connected for 8 mins',
  'de-DE': 'Seit 8 Min. verbunden',
};

for (const [locale, said] of Object.entries(words)) {
  test.describe(locale, () => {
    test.use({ locale });

    test('a connection shows its uptime', async ({ page }) => {
      await replay(page);
      await entered(page);
      await page.goto('#/wan');
      await shown(page);
      await expect(page.locator('[data-line="up"]')).toHaveText(said);
    });
  });
}
