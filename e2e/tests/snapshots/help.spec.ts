// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from '@playwright/test';
import { replay } from './replay';
import { entered, shown } from './screens';

for (const width of [320, 1280]) {
  test(`the help opens at its top, ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 480 });
    await replay(page);
    await entered(page);
    await page.goto('#/overview');
    await shown(page);
    await page.keyboard.press('?');
    const help = page.getByRole('dialog');
    const heading = help.getByRole('heading').first();
    await expect(heading).toBeFocused();
    expect(await help.evaluate((dialog) => dialog.scrollHeight > dialog.clientHeight)).toBe(true);
    expect(await help.evaluate((dialog) => dialog.scrollTop)).toBe(0);
    await expect(heading).toBeInViewport({ ratio: 1 });
    await page.keyboard.press('Tab');
    await expect(help.getByRole('button', { name: 'Close' })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(help).toHaveCount(0);
  });
}
