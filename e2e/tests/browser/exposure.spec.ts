// SPDX-License-Identifier: GPL-2.0-or-later
import { violations } from './axe';
import { apply, CHANGE_MS, openReview, openSetup, review, waitConfirmed } from './change';
import { core, expect, test } from './fixture';

test('exposing the router to the Internet needs consent', core, async ({ page, router }) => {
  await openSetup(page, 'firewall');
  await page.getByLabel('wan may open connections to the router', { exact: true }).check();
  await openReview(page);
  const danger = review(page).locator('[data-exposes]');
  await expect(danger).toContainText('This exposes your network to the Internet');
  await expect(danger).toContainText('connect to the router itself (from zone wan)');
  const applied = review(page).getByRole('button', { name: 'Apply', exact: true });
  await expect(applied).toBeDisabled();
  expect(await violations(page)).toEqual([]);
  const consent = danger.getByRole('checkbox', {
    name: 'Expose to the Internet (zone wan): the router',
    exact: true,
  });
  await consent.check();
  await expect(applied).toBeEnabled();
  await review(page).getByRole('button', { name: 'Back' }).click();
  await openReview(page);
  await expect(applied).toBeDisabled();
  await consent.check();
  await apply(page);
  await waitConfirmed(page);
  await page.goto('#/overview');
  const open = page.locator('[data-code="system-wan-open"]');
  await expect(open).toContainText('the router itself (from zone wan)', { timeout: CHANGE_MS });
  await expect(page.getByText('No problems found.')).toBeHidden();
  expect(await router.run('cat /etc/config/firewall')).toMatch(/option\s+input\s+'ACCEPT'/);
});

test('a change without exposure needs no consent', async ({ page }) => {
  await openSetup(page, 'firewall');
  await page.getByLabel('iot may open connections to mgmt', { exact: true }).check();
  await openReview(page);
  await expect(review(page).locator('[data-exposes]')).toHaveCount(0);
  await expect(review(page).getByRole('button', { name: 'Apply', exact: true })).toBeEnabled();
});
