// SPDX-License-Identifier: GPL-2.0-or-later
import { violations } from './axe';
import { expect, live, logIn, test } from './fixture';
import { theme } from './place';

test.skip(!theme, 'LUCI_THEME does not name a theme of LuCI');

const screens = [
  ...['overview', 'devices', 'flows', 'protection', 'topology', 'health', 'network', 'wan'],
  ...['fastpath', 'firewall', 'cpu', 'export', 'system', 'wizard'],
];

for (const width of [1280, 320]) {
  test(`LuCI links and shows every screen, ${width} px`, async ({ page }, info) => {
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
      const entry = page.locator(`a[href$="/admin/fastpath/${screen}"]`);
      if (screen !== 'wizard') await expect(entry.first()).toBeAttached();
      await expect(page).toHaveTitle(/\S/);
      expect.soft(await violations(page), screen).toEqual([]);
      await page.screenshot({ path: info.outputPath(`${screen}.png`), fullPage: true });
    }
  });
}
