// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { violations } from './axe';
import { expect, logIn, open, rowOf, screens, test } from './fixture';
import { hosts } from './lab';
import { standaloneOnly } from './place';

standaloneOnly();

async function everyView(page: Page, port: number, check: (what: string) => Promise<void>) {
  await page.goto('');
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible();
  await check('login');
  await logIn(page);
  await expect(page.getByRole('heading', { name: 'Throughput by path' })).toBeVisible();
  await check('overview');
  await page.getByRole('button', { name: 'Show as table' }).click();
  await check('overview with the table of the chart');
  await page.goto('#/topology');
  await expect(page.getByRole('heading', { name: 'Interfaces' })).toBeVisible();
  await check('topology');
  for (const part of ['now', 'policy', 'rules']) {
    await page.goto(`#/protection?part=${part}`);
    await expect(page.getByRole('navigation', { name: 'Protection sections' })).toBeVisible();
    await expect(page.locator('main .panel h2').first()).toBeVisible();
    await check(`protection, ${part}`);
  }
  // Moves the pointer away, because the flow table does not update rows under it.
  await page.mouse.move(0, 0);
  await page.goto('#/flows?nat=1');
  await expect(rowOf(page, port)).toContainText('Flowtable');
  await check('flows');
  await rowOf(page, port).click();
  await expect(page.getByRole('heading', { name: 'History' })).toBeVisible();
  await check('flows with a flow open');
  await page.mouse.move(0, 0);
  await page.goto('#/flows?group=host');
  await expect(page.locator('.g-key').filter({ hasText: 'h10' })).toBeVisible();
  await check('flows by host');
}

/** regression.spec.ts checks every screen; this file adds open dialogs and panels. */
const long = { tag: '@long' };

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every screen passes axe, ${colorScheme}`, long, async ({ page, lan }) => {
    const port = await lan.download(hosts.isp);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await everyView(page, port, async (what) => {
      expect.soft(await violations(page), what).toEqual([]);
    });
  });
}

test('every screen fits into 320 px', async ({ page, lan }) => {
  const port = await lan.download(hosts.isp);
  await page.setViewportSize({ width: 320, height: 640 });
  await everyView(page, port, async (what) => {
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect.soft(width, what).toBeLessThanOrEqual(320);
    expect.soft(await violations(page), what).toEqual([]);
  });
});

for (const screen of screens) {
  test(`${screen} is accessible with reduced motion and forced colours`, async ({ page }) => {
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
    await open(page, screen);
    expect(await violations(page)).toEqual([]);
  });
}
