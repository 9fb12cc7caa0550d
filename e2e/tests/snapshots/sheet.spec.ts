// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, shown } from './screens';

test.use({ locale: 'en-GB' });

async function open(page: Page, screen: string, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  await replay(page);
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
}

const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: at } = document;
    return at?.getAttribute('aria-label') ?? at?.textContent?.trim() ?? '';
  });

const rows = {
  flows: /^TCP \[2001:db8:10::11\]/,
  protection: /^02:26:47/,
};

for (const [screen, row] of Object.entries(rows)) {
  test(`details on ${screen} are a dialog on a phone`, async ({ page }) => {
    await open(page, screen, 390);
    const button = page.getByRole('button', { name: row });
    await button.click();
    const dialog = page.getByRole('dialog');
    await expect(dialog).toBeVisible();
    await expect(dialog.getByRole('button', { name: 'Close' })).toBeFocused();
    // Tab keeps the focus inside the dialog or in the browser's own controls.
    for (let n = 0; n < 12; n += 1) {
      await page.keyboard.press('Tab');
      const outside = await page.evaluate(
        () =>
          document.activeElement !== document.body && !document.activeElement?.closest('dialog'),
      );
      expect(outside, await focused(page)).toBe(false);
    }
    await page.keyboard.press('Escape');
    await expect(dialog).toHaveCount(0);
    await expect(page).not.toHaveURL(/flow=|alert=/);
    await expect(button).toBeFocused();
    await button.click();
    await expect(dialog).toBeVisible();
    await page.mouse.click(195, 60);
    await expect(dialog).toHaveCount(0);
    await expect(page).not.toHaveURL(/flow=|alert=/);
  });

  test(`details on ${screen} are next to the list in a wide window`, async ({ page }) => {
    await open(page, screen, 1280);
    await page.getByRole('button', { name: row }).click();
    await expect(page.getByRole('complementary')).toBeVisible();
    await expect(page.getByRole('dialog')).toHaveCount(0);
  });
}
