// SPDX-License-Identifier: GPL-2.0-or-later
import { violations } from './axe';
import { expect, live, logIn, test } from './fixture';
import { theme } from './place';

test.skip(!theme, 'the page is by itself: LUCI_THEME names a theme of LuCI');

const screens = [
  ...['overview', 'flows', 'protection', 'topology', 'health', 'network', 'wan'],
  ...['fastpath', 'firewall', 'cpu', 'export', 'system', 'wizard'],
];

for (const width of [1280, 320]) {
  test(`every screen has its place in LuCI, ${width} px`, async ({ page }, info) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto('#/overview');
    await logIn(page);
    await live(page);
    for (const screen of screens) {
      await page.goto(`#/${screen}`);
      const app = page.locator('.fastpath-app');
      await expect(app.locator('main').getByRole('heading').first()).toBeVisible();
      await expect(app.locator('main .waiting')).toHaveCount(0);
      const [inner, outer] = await app.evaluate((node) => [
        node.shadowRoot?.querySelector('.fastpath')?.scrollWidth ?? Infinity,
        node.clientWidth,
      ]);
      expect.soft(inner, `${screen} is too wide`).toBeLessThanOrEqual(outer ?? 0);
      // LuCI's own menu has an entry for every screen except the wizard.
      const entry = page.locator(`a[href$="/admin/fastpath/${screen}"]`);
      if (screen !== 'wizard') await expect(entry.first()).toBeAttached();
      await expect(page).toHaveTitle(/\S/);
      expect.soft(await violations(page), screen).toEqual([]);
      await page.screenshot({ path: info.outputPath(`${screen}.png`), fullPage: true });
    }
  });
}
