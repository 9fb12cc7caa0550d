// SPDX-License-Identifier: GPL-2.0-or-later
import { chromium, type Browser, type Page } from '@playwright/test';
import {
  apply,
  cell,
  CHANGE_MS,
  changeState,
  openReview,
  openSetup,
  review,
  ROLL_BACK_MS,
  withhold,
} from './change';
import { expect, logIn, test } from './fixture';
import type { Lab } from './lab';
import { placed } from './place';

/** Opens the page from a host in VLAN 10 at lan1, at the router's address in that VLAN. */
async function atLan1(lab: Lab, launch: object): Promise<{ browser: Browser; page: Page }> {
  const port = (await lab.verb('seen_from_h10', '10.10.10.1')).trim();
  const browser = await chromium.launch({
    ...launch,
    args: ['--no-sandbox', `--host-resolver-rules=MAP 10.10.10.1:80 127.0.0.1:${port}`],
  });
  const baseURL = 'http://10.10.10.1/fastpath/';
  const page = placed(await browser.newPage({ baseURL, locale: 'en-GB' }));
  return { browser, page };
}

test(
  'removing the administrator’s VLAN needs consent, disconnects, and is rolled back',
  { tag: ['@fault:own-vlan-taken'] },
  async ({ lab, router, launchOptions }) => {
    const { browser, page } = await atLan1(lab, launchOptions);
    try {
      await openSetup(page, 'network');
      await cell(page, 'lan1', 10).press('-');
      await openReview(page);
      const applied = review(page).getByRole('button', { name: 'Apply', exact: true });
      await expect(review(page).getByText('You may lose access')).toBeVisible();
      await expect(applied).toBeDisabled();
      await review(page).getByRole('checkbox').check();
      await apply(page);
      await expect
        .poll(() => router.run('bridge vlan show dev lan1'), { timeout: CHANGE_MS })
        .not.toMatch(/\b10\b/);
      await expect(page.locator('[data-connection=lost]')).toBeVisible({ timeout: CHANGE_MS });
      await expect(changeState(page, 'expired')).toBeVisible({ timeout: ROLL_BACK_MS });
      await expect(changeState(page, 'expired')).toContainText('was not confirmed in time');
      expect(await router.run('bridge vlan show dev lan1')).toMatch(/\b10 PVID/);
      await expect(page.locator('[data-connection]')).toHaveText('Live', { timeout: CHANGE_MS });
      await page.reload();
      await expect(cell(page, 'lan1', 10)).toHaveAttribute('data-member', 'u*');
    } finally {
      await browser.close();
    }
  },
);

test(
  'a change is rolled back if the browser closes during the countdown, and the page reports it',
  { tag: ['@fault:browser-closed'] },
  async ({ page, router, browser, baseURL }) => {
    const before = await router.run('cat /etc/config/network');
    await openSetup(page, 'network');
    await cell(page, 'lan3', 20).press('t');
    await openReview(page);
    // No page is left to confirm the pending change.
    await apply(page);
    await page.close();
    const lan3 = () => router.run('bridge vlan show dev lan3');
    await expect.poll(lan3, { timeout: CHANGE_MS }).toMatch(/\b20\b/);
    await expect
      .poll(() => router.run('cat /etc/config/network'), { timeout: ROLL_BACK_MS })
      .toBe(before);
    await expect
      .poll(() => router.run('bridge vlan show dev lan3'), { timeout: CHANGE_MS })
      .not.toMatch(/\b20\b/);
    const later = placed(await browser.newPage());
    await later.goto(`${baseURL}#/network`);
    await logIn(later);
    await expect(changeState(later, 'expired')).toBeVisible({ timeout: CHANGE_MS });
    await later.getByRole('button', { name: 'Dismiss' }).click();
    await expect(changeState(later, 'expired')).toBeHidden();
    await later.close();
  },
);

test(
  'a second administrator sees who else is editing',
  { tag: ['@fault:two-administrators'] },
  async ({ page, router, browser, baseURL }) => {
    await openSetup(page, 'network');
    await cell(page, 'lan3', 20).press('t');
    await openReview(page);
    const other = placed(await browser.newPage());
    await other.goto(`${baseURL}#/network`);
    await logIn(other);
    await cell(other, 'lan2', 10).press('t');
    await openReview(other);
    await withhold(page);
    await apply(page);
    await review(other).getByRole('button', { name: 'Apply', exact: true }).click();
    await expect(other.getByText(/root has had a change in progress since \d/)).toBeVisible({
      timeout: CHANGE_MS,
    });
    expect(await router.run('bridge vlan show dev lan2')).not.toMatch(/\b10\b/);
    await other.getByRole('button', { name: 'Roll back now' }).click();
    await expect(changeState(page, 'reverted')).toBeVisible({ timeout: CHANGE_MS });
    await expect
      .poll(() => router.run('bridge vlan show dev lan3'), { timeout: CHANGE_MS })
      .not.toMatch(/\b20\b/);
    await other.close();
  },
);
