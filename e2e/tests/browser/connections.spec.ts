// SPDX-License-Identifier: GPL-2.0-or-later
import { violations } from './axe';
import { apply, cell, openReview, openSetup, review, waitConfirmed } from './change';
import { expect, test } from './fixture';

test('a review of the firewall offers to end established connections', async ({ page }) => {
  await openSetup(page, 'firewall');
  await page.getByLabel('iot may open connections to mgmt', { exact: true }).check();
  await openReview(page);
  const ending = review(page).getByRole('checkbox', {
    name: 'Also close existing connections',
    exact: true,
  });
  await expect(ending).not.toBeChecked();
  await expect(review(page)).toContainText('a rollback ends none');
  expect(await violations(page)).toEqual([]);
  await ending.check();
  await review(page).getByRole('button', { name: 'Back' }).click();
  await openReview(page);
  await expect(ending).not.toBeChecked();
  await ending.check();
  const asked = page.waitForRequest((request) => {
    const sent = request.postData() ?? '';
    return sent.includes('"apply"') && sent.includes('"end_connections":true');
  });
  await apply(page);
  await asked;
  await waitConfirmed(page);
});

test('a review of other settings does not mention connections', async ({ page }) => {
  await openSetup(page, 'network');
  await cell(page, 'lan3', 20).press('t');
  await openReview(page);
  await expect(review(page).locator('[data-ending]')).toHaveCount(0);
});
