// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, type Page } from '@playwright/test';

/** Addresses of every screen and its parts. */
export const screens: Record<string, string> = {
  overview: 'overview',
  devices: 'devices',
  device: 'devices?mac=52:54:00:02:00:01',
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

/** The screen with the most kinds of elements; the short tier tests only this one per look. */
export const REPRESENTATIVE = 'overview';

/**
 * Tags a test as long unless it is in the short tier, which covers whole looks or one screen of
 * each.
 */
export const long = (whole: boolean, screen: string) => ({
  tag: whole || screen === REPRESENTATIVE ? [] : ['@long'],
});

const session = JSON.stringify({ session: '1'.repeat(32), user: 'root' });

export async function entered(page: Page): Promise<void> {
  await page.addInitScript((stored) => {
    sessionStorage.setItem('fastpath.session', stored);
  }, session);
}

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
