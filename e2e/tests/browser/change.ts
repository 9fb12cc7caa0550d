// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { expect, logIn, type User } from './fixture';

/** The time of a change on an emulated gateway: checked, staged, in force, confirmed. */
export const CHANGE_MS = 90_000;
/** The time to confirm, and the time in which a slow gateway has everything restored. */
export const BACK_MS = 180_000;

/** Opens a screen whose figures do not come from the daemon. */
export async function openSetup(page: Page, screen: string, user: User = 'root'): Promise<void> {
  await page.goto(`#/${screen}`);
  await logIn(page, user);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
}

/** The membership of a port or an SSID in a VLAN; the keys `u`, `t` and `-` set it. */
export const cell = (page: Page, port: string, vid: number) =>
  page.getByRole('radio', { name: `${port}, VLAN ${vid}: `, checked: true });
/** One of the memberships that it could have. */
export const membership = (page: Page, port: string, vid: number, member: string) =>
  page.getByRole('radio', { name: `${port}, VLAN ${vid}: ${member}`, exact: true });

export const review = (page: Page) => page.getByRole('dialog', { name: 'Changes' });

/** The lines of the open review in the syntax of the files. */
export async function diff(page: Page): Promise<string[]> {
  const uci = review(page).locator('[data-uci]');
  // It stays open from one review to the next.
  if (!(await uci.evaluate((each: HTMLDetailsElement) => each.open))) {
    await uci.locator('summary').click();
  }
  return review(page).locator('[data-line]').allInnerTexts();
}

/** Requests a review of the changes, and answers its lines. */
export async function looked(page: Page): Promise<string[]> {
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(review(page)).toBeVisible({ timeout: CHANGE_MS });
  return diff(page);
}

export const how = (page: Page, state: string) => page.locator(`[data-change="${state}"]`);

/** Applies a reviewed change: in force, but neither confirmed nor rolled back. */
export async function apply(page: Page): Promise<void> {
  await review(page).getByRole('button', { name: 'Apply', exact: true }).click();
  await expect(how(page, 'pending')).toBeVisible({ timeout: CHANGE_MS });
}

/** The page has found the router again. */
export async function kept(page: Page): Promise<void> {
  await expect(how(page, 'kept')).toBeVisible({ timeout: CHANGE_MS });
}

/** Keeps the page from confirming: a busy lab brings a change into force later than a router. */
export async function withhold(page: Page): Promise<void> {
  await page.route('**/ubus', (route) =>
    route.request().postData()?.includes('"confirm"')
      ? route.fulfill({ json: { jsonrpc: '2.0', id: 0, result: [7] } })
      : route.continue(),
  );
}
