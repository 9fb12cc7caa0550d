// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, type Page } from '@playwright/test';
import { violations } from '../browser/axe';

/**
 * Expects a screen no wider than the window, tables no wider than their panels, and no
 * accessibility violations.
 */
export async function fits(page: Page, screen: string, width: number): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect.soft(wide, `${screen} is too wide`).toBeLessThanOrEqual(width);
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('table')]
      .filter((table) => table.scrollWidth > (table.parentElement?.clientWidth ?? 0))
      .filter((table) => table.closest('.scroll, .hidden') === null)
      .map((table) => table.textContent),
  );
  expect.soft(cut, `tables of ${screen} beyond their panels`).toEqual([]);
  expect.soft(await violations(page), screen).toEqual([]);
}
