// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { expect, logIn, type User } from './fixture';

/** Timeout of a change on an emulated gateway, from check to confirmation. */
export const CHANGE_MS = 90_000;
/** Timeout of a roll-back: the time to confirm, plus the roll-back on a slow gateway. */
export const ROLL_BACK_MS = 180_000;

/** Opens a screen that does not depend on the daemon. */
export async function openSetup(page: Page, screen: string, user: User = 'root'): Promise<void> {
  await page.goto(`#/${screen}`);
  await logIn(page, user);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
}

/** Membership of a port or an SSID in a VLAN; the keys `u`, `t` and `-` set it. */
export const cell = (page: Page, port: string, vid: number) =>
  page.getByRole('radio', { name: `${port}, VLAN ${vid}: `, checked: true });
export const membership = (page: Page, port: string, vid: number, member: string) =>
  page.getByRole('radio', { name: `${port}, VLAN ${vid}: ${member}`, exact: true });

export const review = (page: Page) => page.getByRole('dialog', { name: 'Changes' });

export async function diff(page: Page): Promise<string[]> {
  const uci = review(page).locator('[data-uci]');
  // The page stores whether this section is expanded.
  if (!(await uci.evaluate((each: HTMLDetailsElement) => each.open))) {
    await uci.locator('summary').click();
  }
  return review(page).locator('[data-line]').allInnerTexts();
}

export async function openReview(page: Page): Promise<string[]> {
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(review(page)).toBeVisible({ timeout: CHANGE_MS });
  return diff(page);
}

export const changeState = (page: Page, state: string) => page.locator(`[data-change="${state}"]`);

/** Applies the reviewed draft and waits until the change is pending. */
export async function apply(page: Page): Promise<void> {
  await review(page).getByRole('button', { name: 'Apply', exact: true }).click();
  await expect(changeState(page, 'pending')).toBeVisible({ timeout: CHANGE_MS });
}

/** Waits until the page has reached the router again and confirmed the change. */
export async function waitConfirmed(page: Page): Promise<void> {
  await expect(changeState(page, 'kept')).toBeVisible({ timeout: CHANGE_MS });
}

/** Returns the lines of the review. */
export async function applyDraft(page: Page): Promise<string[]> {
  const lines = await openReview(page);
  await apply(page);
  await waitConfirmed(page);
  return lines;
}

/** Undoes a change by its place in the list, the newest first. */
export async function undoChange(page: Page, at = 0): Promise<void> {
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.goto('#/system');
  const change = page.locator('details[data-change]').nth(at);
  await change.locator('> summary').click();
  await change.getByRole('button', { name: 'Undo this change' }).click();
  await applyDraft(page);
}

/** Answers confirmations with a timeout, so that the change stays pending. */
export async function withhold(page: Page): Promise<void> {
  await page.route('**/ubus', (route) =>
    route.request().postData()?.includes('"confirm"')
      ? route.fulfill({ json: { jsonrpc: '2.0', id: 0, result: [7] } })
      : route.continue(),
  );
}
