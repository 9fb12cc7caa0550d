// SPDX-License-Identifier: GPL-2.0-or-later
import { violations } from './axe';
import { core, expect, live, requests, screens, test } from './fixture';
import { BASE, openInLuci } from './luci';
import { standaloneOnly } from './place';

standaloneOnly();

test(
  'every screen has its own address in LuCI, and switching does not reload LuCI',
  core,
  async ({ page, request }) => {
    await openInLuci(page, request, 'overview');
    await live(page);
    expect(await violations(page)).toEqual([]);
    await page.evaluate(() => Object.assign(window, { stays: true }));
    const navigation = page.getByRole('navigation', { name: 'Screens' });
    for (const screen of [...screens].reverse()) {
      await navigation.getByRole('link', { name: new RegExp(screen, 'i') }).click();
      await expect(page).toHaveURL(`${BASE}/${screen}`);
    }
    await page.goBack();
    await expect(page).toHaveURL(`${BASE}/flows`);
    await expect(page.getByRole('table', { name: 'Flows' })).toBeVisible();
    await expect(page.locator('#menu .active')).toHaveText(['Flows', 'Flows']);
    await expect(page).toHaveTitle('gateway | Flows');
    expect(await page.evaluate(() => 'stays' in window)).toBe(true);
    await expect(page.getByRole('button', { name: /^Menu/ })).toHaveCount(0);
    // LuCI's buttons would not save edits of the page.
    await expect(page.locator('.cbi-page-actions')).toHaveCount(0);
    await expect(page.getByText('Log out')).toHaveCount(0);
    await expect(page.getByText('Deutsch')).toHaveCount(0);
  },
);

test('a screen without a menu entry has a title', async ({ page, request }) => {
  await openInLuci(page, request, 'wizard', { title: 'gateway' });
  await expect(page.getByRole('heading', { name: 'Setup wizard' })).toBeVisible();
  await expect(page).toHaveTitle('gateway | Setup wizard');
  await page.goto(`${BASE}/flows`);
  await expect(page).toHaveTitle('gateway | Flows');
});

test('shortcuts do not interrupt typing in the shadow root', async ({ page, request }) => {
  await openInLuci(page, request, 'flows');
  await live(page);
  await page.keyboard.press('/');
  await page.keyboard.type('10.10/16');
  await expect(page.getByRole('searchbox', { name: 'Filter flows' })).toHaveValue('10.10/16');
});

test('styles of LuCI and of the page do not affect each other', async ({ page, request }) => {
  await openInLuci(page, request, 'overview');
  await live(page);
  const styleOf = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((node) => {
        const {
          display,
          fontSize,
          fontStyle,
          letterSpacing,
          textTransform,
          borderTopStyle,
          padding,
        } = getComputedStyle(node);
        return {
          display,
          fontSize,
          fontStyle,
          letterSpacing,
          textTransform,
          borderTopStyle,
          padding,
        };
      });
  const inLuci = [
    await styleOf('.panel'),
    await styleOf('nav a'),
    await styleOf('h2:not(#theirs)'),
  ];
  const theirs = await styleOf('#theirs');
  expect(theirs).toMatchObject({ fontSize: '30px', padding: '31px', borderTopStyle: 'dotted' });
  expect(await page.evaluate(() => document.adoptedStyleSheets.length)).toBe(0);

  await page.unrouteAll();
  await page.goto('/fastpath/#/overview');
  await page.getByLabel('Password', { exact: true }).fill('fastpath');
  await page.getByRole('button', { name: 'Log in' }).click();
  await live(page);
  expect([await styleOf('.panel'), await styleOf('nav a'), await styleOf('main h2')]).toEqual(
    inLuci,
  );
});

test('language and dark mode follow LuCI', async ({ page, request }) => {
  await openInLuci(page, request, 'overview', { lang: 'de' });
  await live(page);
  await expect(page.getByRole('heading', { name: 'Durchsatz nach Pfad' })).toBeVisible();
  const app = page.locator('.fastpath');
  await expect(app).toHaveAttribute('data-scheme', 'light');
  const dark = (on: boolean) =>
    page.evaluate((value) => (document.documentElement.dataset['darkmode'] = String(value)), on);
  await dark(true);
  await expect(app).toHaveAttribute('data-scheme', 'dark');
  await dark(false);
  await expect(app).toHaveAttribute('data-scheme', 'light');
});

test('every screen fits into 320 px in German', async ({ page, request }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  for (const screen of screens) {
    await openInLuci(page, request, screen, { lang: 'de' });
    await live(page);
    const host = page.locator('.fastpath');
    await expect(page.getByRole('main').getByRole('heading').first()).toBeAttached();
    expect(await host.evaluate((node) => node.scrollWidth - node.clientWidth)).toBe(0);
  }
});

test('a read-only account sees no writing controls', async ({ page, request }) => {
  await openInLuci(page, request, 'overview', { user: 'viewer' });
  await live(page);
  await expect(page.getByRole('group', { name: 'Engine' }).getByRole('button')).toHaveCount(0);
  await page.goto(`${BASE}/protection?part=policy`);
  await live(page);
  await expect(page.getByRole('heading', { name: 'Inspection policies' })).toBeVisible();
  await expect(page.getByRole('main').getByRole('button')).toHaveCount(0);
  await expect(page.getByRole('main').getByRole('combobox')).toHaveCount(0);
});

test('a removed page sends no requests', async ({ page, request }) => {
  await openInLuci(page, request, 'flows');
  await live(page);
  await page.locator('.fastpath-app').evaluate((node) => node.remove());
  expect((await requests(page)).map((each) => each.postData() ?? each.url())).toEqual([]);
});

test('a page that the router does not serve shows an error', async ({ page, request, watch }) => {
  watch.expectOutage();
  await page.route('**/fastpath/app.js*', (route) => route.abort());
  await openInLuci(page, request, 'overview');
  await expect(page.locator('.alert-message')).toContainText('could not be loaded');
});
