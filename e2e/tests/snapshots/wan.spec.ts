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

test.describe('en-GB', () => {
  test.use({ locale: 'en-GB' });

  test('rates and overhead of low latency have the limits of the daemon', async ({ page }) => {
    await replay(page);
    await entered(page);
    await page.goto('#/wan');
    await shown(page);
    const part = page.getByRole('region', { name: 'Keep latency low' });
    await part.getByLabel('Keep latency low').check();
    for (const [label, within, beyond] of [
      ['Download', ['64', '10000000'], ['63', '10000001']],
      ['Upload', ['64', '10000000'], ['63', '10000001']],
      ['Overhead, bytes per packet', ['0', '256'], ['257']],
    ] as const) {
      const field = part.getByLabel(label);
      for (const value of within) {
        await field.fill(value);
        await expect(field).not.toHaveAttribute('aria-invalid', 'true');
      }
      for (const value of beyond) {
        await field.fill(value);
        await expect(field).toHaveAttribute('aria-invalid', 'true');
      }
    }
  });
});
