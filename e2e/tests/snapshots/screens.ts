// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, type Page } from '@playwright/test';

/** Every screen and its parts, by the address in the page. */
export const screens: Record<string, string> = {
  overview: 'overview',
  flows: 'flows',
  protection: 'protection',
  policy: 'protection?part=policy',
  rules: 'protection?part=rules',
  topology: 'topology',
  health: 'health',
  network: 'network',
  wan: 'wan',
  fastpath: 'fastpath',
  firewall: 'firewall',
  cpu: 'cpu',
  export: 'export',
  system: 'system',
  wizard: 'wizard',
};

/** Has more kinds of elements and more colours than any other screen: it shows a look alone. */
export const REPRESENTATIVE = 'overview';

/** Tag of a screen in a look that the short tier shows by the representative screen alone. */
export const long = (whole: boolean, screen: string) => ({
  tag: whole || screen === REPRESENTATIVE ? [] : ['@long'],
});

const session = JSON.stringify({ session: '1'.repeat(32), user: 'root' });

/** Somebody who has logged in already. */
export async function entered(page: Page): Promise<void> {
  await page.addInitScript((stored) => {
    sessionStorage.setItem('fastpath.session', stored);
  }, session);
}

/** The answers that the screen asked for are there. */
export async function shown(page: Page): Promise<void> {
  await expect(page.locator('main').locator('.panel:visible, [role=table]').first()).toBeVisible();
  await expect(page.locator('main .waiting')).toHaveCount(0, { timeout: 60_000 });
  await expect(page.locator('[role=table] .message')).toHaveCount(0);
  await fontLoaded(page);
}

export async function fontLoaded(page: Page): Promise<void> {
  const fonts = () => page.evaluate(() => [...document.fonts].map(({ status }) => status));
  await expect.poll(fonts).toEqual(['loaded']);
}
