// SPDX-License-Identifier: GPL-2.0-or-later
import type { Locator, Page } from '@playwright/test';
import { core, entry, expect, live, open, rowOf, test } from './fixture';
import { hosts } from './lab';
import { standaloneOnly } from './place';

standaloneOnly();

/**
 * Presses Tab until `target` has the focus, and checks that each stop is visible. The focus leaves
 * the page once, after the last stop.
 */
async function tabTo(page: Page, target: Locator, key = 'Tab'): Promise<void> {
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press(key);
    const focused = page.locator(':focus');
    if ((await focused.count()) > 0) await expect(focused).toBeVisible();
    if (await target.evaluate((element) => element === document.activeElement)) return;
  }
  throw new Error('40 times Tab did not reach it');
}

test('login and switching the engine work without a mouse', core, async ({ page, router }) => {
  await page.goto('');
  await tabTo(page, page.getByLabel('User name'));
  await page.keyboard.type('root');
  await expect(page.getByLabel('User name')).toHaveValue('root');
  await page.keyboard.press('Tab');
  await page.keyboard.type('fastpath');
  await page.keyboard.press('Enter');
  await live(page);
  await tabTo(page, page.getByRole('button', { name: 'Skip to content' }));
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
  await tabTo(page, page.getByRole('button', { name: 'Off', exact: true }));
  await page.keyboard.press('Enter');
  await expect(page.getByText('Switched to Off.')).toBeVisible();
  expect(await router.engine()).toMatchObject({ active: 'off' });
});

test('flows are filtered, opened and closed by keyboard', async ({ page, lan }) => {
  const port = await lan.download(hosts.isp);
  const other = await lan.download(hosts.h20);
  await open(page, 'overview');
  await tabTo(page, entry(page, 'Flows'));
  await page.keyboard.press('Enter');
  await expect(rowOf(page, port)).toBeVisible();
  await page.keyboard.press('/');
  await expect(page.getByRole('searchbox', { name: 'Filter flows' })).toBeFocused();
  await page.keyboard.type('tcp 10.10.10.10');
  await expect(page).toHaveURL(/text=tcp/);
  await expect(rowOf(page, other)).toBeVisible();
  const rows = page.getByRole('table', { name: 'Flows' }).locator('[data-index] button');
  await tabTo(page, rows.first());
  await page.keyboard.press('ArrowDown');
  await expect(rows.nth(1)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: /^Flow\b/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('heading', { name: /^Flow\b/ })).toHaveCount(0);
  const age = page.getByRole('button', { name: 'Age' });
  await tabTo(page, age, 'Shift+Tab');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('columnheader', { name: 'Age' })).toHaveAttribute(
    'aria-sort',
    /ing$/,
  );
});
