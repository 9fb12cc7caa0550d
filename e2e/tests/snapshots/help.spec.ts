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

test('a term is described by its explanation, which opens as a named note', async ({ page }) => {
  await replay(page);
  await entered(page);
  await page.goto('#/network');
  await shown(page);
  const term = page.getByRole('button', { name: 'What does “PVID” mean?' }).first();
  const words = 'The VLAN of untagged frames that arrive on a port; at most one per port.';
  await expect(term).toHaveAccessibleDescription(words);
  await term.focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('note', { name: 'PVID' })).toContainText(words);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('note', { name: 'PVID' })).toHaveCount(0);
});

test('only irreversible actions ask with a danger sign', async ({ page }) => {
  await replay(page);
  await entered(page);
  const yes = page.getByRole('dialog').locator('.buttons button').last();
  await page.goto('#/system');
  await shown(page);
  await page.getByRole('button', { name: 'Reboot', exact: true }).click();
  await expect(yes).toHaveText(/Reboot/);
  await expect(yes.locator('svg')).toBeVisible();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.goto('#/fastpath');
  await shown(page);
  await page.getByRole('button', { name: 'Inspect all connections again' }).click();
  await expect(yes).toHaveText('Inspect all connections again');
  await expect(yes.locator('svg')).toHaveCount(0);
});
