// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { violations } from '../browser/axe';
import { replay } from './replay';

test.use({ locale: 'en-GB' });

const BASE = '/cgi-bin/luci/admin/fastpath';

const host = `<!doctype html>
  <html lang="en"><head><meta charset="utf-8"><title>LuCI</title>
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <style>
    body { margin: 0; padding-top: 3.5rem; font: italic 22px/3 serif }
    #top { position: fixed; inset: 0 0 auto; z-index: 900; height: 3.5rem; background: #333 }
    * { border: 3px dotted red !important }
    nav, a, button, input, dialog { padding: 31px !important; font-size: 30px !important }
  </style></head><body>
  <header id="top">LuCI</header><div class="fastpath-app"></div>
  <script type="module">
    const { mount } = await import('/fastpath/app.js');
    const shadow = document.querySelector('.fastpath-app').attachShadow({ mode: 'open' });
    const session = '1'.repeat(32);
    await mount(shadow, { session, ubusUrl: '/ubus', lang: 'en', dark: false, base: '${BASE}' });
  </script></body></html>`;

async function open(page: Page, screen: string): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page);
  await page.route(`**${BASE}/**`, (route) =>
    route.fulfill({ contentType: 'text/html', body: host }),
  );
  await page.goto(`http://localhost${BASE}/${screen}`);
  await expect(page.getByRole('main').getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.locator('[data-connection=live]')).toBeVisible();
}

const navigation = (page: Page) => page.getByRole('navigation', { name: 'Screens' });

test('the rail and the search work inside a shadow root', async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await open(page, 'overview');
  expect.soft(await violations(page)).toEqual([]);
  await navigation(page).getByRole('link', { name: 'Firewall', exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`${BASE}/firewall$`));
  await expect(page.getByRole('button', { name: /^User menu/ })).toHaveCount(0);
  await page.evaluate(() => window.scrollTo(0, 400));
  const rail = await navigation(page).boundingBox();
  expect(rail?.y).toBeGreaterThanOrEqual(56);
  await page.keyboard.press('Control+k');
  const search = page.getByRole('dialog', { name: /^Search/ });
  await expect(search.getByRole('combobox')).toBeFocused();
  expect.soft(await violations(page), 'search').toEqual([]);
  await page.keyboard.type('first packets');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(new RegExp(`${BASE}/fastpath$`));
  await expect(page.getByLabel('First packets on the slow path')).toBeFocused();
  await page.keyboard.press('Control+k');
  await expect(search.getByRole('combobox')).toBeFocused();
  await page.keyboard.type('theme');
  await expect(search.getByRole('option')).toHaveText([/^Show flows with/]);
});

test('the bar is at the bottom of a phone screen', async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, 'overview');
  const bar = await navigation(page).boundingBox();
  expect((bar?.y ?? 0) + (bar?.height ?? 0)).toBe(740);
  await navigation(page).getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByRole('dialog').getByRole('link', { name: 'System', exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`${BASE}/system$`));
  await expect(page.getByRole('link', { name: 'Open LuCI' })).toHaveAttribute(
    'href',
    '/cgi-bin/luci',
  );
  await page.getByRole('link', { name: 'Setup wizard' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Setup wizard' })).toBeVisible();
  const wide = await page.locator('.fastpath').evaluate((node) => node.scrollWidth);
  expect(wide).toBeLessThanOrEqual(360);
});

/** Provokes each connection state that the header can show. */
const connectionStates: Record<string, (page: Page) => Promise<unknown>> = {
  connecting: (page) => page.route('**/ubus', () => undefined),
  lost: (page) => page.route('**/ubus', (route) => route.abort()),
  absent: (page) =>
    page.route('**/ubus', (route) => {
      const { id } = route.request().postDataJSON() as { id: number };
      return route.fulfill({ json: { jsonrpc: '2.0', id, result: [7] } });
    }),
};

for (const [state, begin] of Object.entries(connectionStates)) {
  test(`the header fits the narrowest phone: ${state}`, async ({ page }) => {
    // Width that remains in a LuCI theme with margins.
    await page.setViewportSize({ width: 304, height: 640 });
    await replay(page);
    await page.route(`**${BASE}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: host.replaceAll('3px dotted', '0px') }),
    );
    await begin(page);
    await page.goto(`http://localhost${BASE}/overview`);
    await expect(page.locator(`[data-connection=${state}]`)).toBeVisible();
    const wide = await page.locator('.fastpath').evaluate((node) => node.scrollWidth);
    expect(wide).toBeLessThanOrEqual(304);
    for (const name of ['Search', 'Shortcuts and glossary']) {
      await expect(page.getByRole('button', { name })).toBeInViewport({ ratio: 1 });
    }
  });
}
