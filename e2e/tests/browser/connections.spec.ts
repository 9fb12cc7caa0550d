// SPDX-License-Identifier: GPL-2.0-or-later
import { violations } from './axe';
import { apply, cell, kept, looked, openSetup, review } from './change';
import { expect, test } from './fixture';

test('a review of the firewall offers to end established connections', async ({ page }) => {
  await openSetup(page, 'firewall');
  await page.getByLabel('iot may open connections to mgmt', { exact: true }).check();
  await looked(page);
  const ending = review(page).getByRole('checkbox', {
    name: 'Also close existing connections',
    exact: true,
  });
  await expect(ending).not.toBeChecked();
  await expect(review(page)).toContainText('a rollback ends none');
  expect(await violations(page)).toEqual([]);
  await ending.check();
  // The choice applies to one review; the next one starts unchecked.
  await review(page).getByRole('button', { name: 'Back' }).click();
  await looked(page);
  await expect(ending).not.toBeChecked();
  await ending.check();
  const asked = page.waitForRequest((request) => {
    const sent = request.postData() ?? '';
    return sent.includes('"apply"') && sent.includes('"end_connections":true');
  });
  await apply(page);
  await asked;
  await kept(page);
});

test('a review of other settings does not mention connections', async ({ page }) => {
  await openSetup(page, 'network');
  await cell(page, 'lan3', 20).press('t');
  await looked(page);
  await expect(review(page).locator('[data-ending]')).toHaveCount(0);
});
