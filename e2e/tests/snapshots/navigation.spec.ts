// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Locator, type Page } from '@playwright/test';
import { violations } from '../browser/axe';
import { replay } from './replay';
import { entered, screens, shown } from './screens';

const PHONE = { width: 360, height: 740 };

const groups = {
  Overview: ['Overview'],
  Devices: ['Devices'],
  Traffic: ['Flows', 'Topology'],
  Security: ['Protection'],
  Settings: ['Internet', 'Network', 'Firewall', 'Fast path', 'CPU', 'Export', 'Health', 'System'],
};

const navigation = (page: Page) => page.getByRole('navigation', { name: 'Screens' });
const link = (page: Page, name: string) =>
  navigation(page).getByRole('link', { name, exact: true });

async function open(
  page: Page,
  screen = 'overview',
  edit: Parameters<typeof replay>[1] = undefined,
): Promise<string[]> {
  const refused: string[] = [];
  await page.exposeFunction('refused', (text: string) => refused.push(text));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      void (window as unknown as { refused: (text: string) => void }).refused(
        `${event.violatedDirective} ${event.sample}`,
      );
    });
  });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page, edit);
  await entered(page);
  await page.goto(`#/${screens[screen] ?? screen}`);
  await shown(page);
  return refused;
}

async function touchable(target: Locator): Promise<void> {
  const box = await target.boundingBox();
  expect(box?.width).toBeGreaterThanOrEqual(44);
  expect(box?.height).toBeGreaterThanOrEqual(44);
}

test.use({ locale: 'en-GB' });

for (const width of [1280, 1920]) {
  test(`the rail leads to every screen, ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    const refused = await open(page);
    for (const name of Object.values(groups).flat()) {
      await link(page, name).click();
      await expect(link(page, name)).toHaveAttribute('aria-current', 'page');
      await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
    }
    await expect(navigation(page).locator('[aria-current]')).toHaveCount(1);
    expect(refused).toEqual([]);
  });
}

test('an expanded rail stays expanded', async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await open(page);
  const width = async () => (await navigation(page).boundingBox())?.width ?? 0;
  const narrow = await width();
  await page.getByRole('button', { name: 'Expand navigation' }).click();
  await expect.poll(width).toBeGreaterThan(narrow + 60);
  await page.reload();
  await shown(page);
  expect(await width()).toBeGreaterThan(narrow + 60);
  await page.getByRole('button', { name: 'Collapse navigation' }).click();
  await expect.poll(width).toBe(narrow);
});

test.describe('on a phone', () => {
  test.use({ viewport: PHONE, hasTouch: true, isMobile: true });

  test('the bar leads to every screen', async ({ page }) => {
    const refused = await open(page);
    for (const [group, names] of Object.entries(groups)) {
      for (const name of names) {
        if (names.length > 1) {
          const button = navigation(page).getByRole('button', { name: group, exact: true });
          await touchable(button);
          await button.tap();
          await touchable(link(page, name));
          await link(page, name).tap();
          await expect(page.getByRole('dialog')).toHaveCount(0);
          await expect(button).toHaveAttribute('aria-current', 'true');
        } else {
          const only = link(page, group);
          await touchable(only);
          await only.tap();
          await expect(only).toHaveAttribute('aria-current', 'page');
        }
        await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
      }
    }
    expect(refused).toEqual([]);
  });

  test('a tap outside a sheet closes it', async ({ page }) => {
    await open(page);
    await navigation(page).getByRole('button', { name: 'Settings' }).tap();
    await expect(page.getByRole('dialog', { name: 'Settings' })).toBeVisible();
    await page.touchscreen.tap(PHONE.width / 2, 60);
    await expect(page.getByRole('dialog')).toHaveCount(0);
  });

  test('the bar does not cover the last line of a screen', async ({ page }) => {
    await open(page, 'system');
    // Answers that arrive late make the screen longer.
    const below = async () => {
      await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
      const bar = await navigation(page).boundingBox();
      const main = await page.getByRole('main').boundingBox();
      return (main?.y ?? 0) + (main?.height ?? 0) - (bar?.y ?? 0);
    };
    await expect.poll(below).toBeLessThanOrEqual(1);
  });
});

for (const width of [320, 360, 768, 1280]) {
  test(`the header is one row of the same height in every state, ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 740 });
    await open(page);
    const header = page.getByRole('banner');
    const state = page.locator('[data-connection]');
    await expect(state).toHaveText('Live');
    const before = await header.boundingBox();
    const search = await page.getByRole('button', { name: 'Search' }).boundingBox();
    expect(before?.height).toBeLessThanOrEqual(50);
    await page.route('**/ubus', (route) => route.abort());
    await page.clock.runFor(10_000);
    await expect(state).toHaveText('Disconnected');
    expect(await header.boundingBox()).toEqual(before);
    expect(await page.getByRole('button', { name: 'Search' }).boundingBox()).toEqual(search);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(width);
  });
}

test('the user menu works by keyboard', async ({ page }) => {
  const refused = await open(page, 'flows');
  const button = page.getByRole('button', { name: 'User menu: root' });
  await button.focus();
  await page.keyboard.press('ArrowDown');
  const menu = page.getByRole('menu');
  const item = (name: string) => menu.getByRole('menuitemradio', { name, exact: true });
  await expect(item('System')).toBeChecked();
  await expect(item('System')).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await expect(item('Dark')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('.fastpath')).toHaveAttribute('data-scheme', 'dark');
  await expect(menu).toHaveCount(0);
  await expect(button).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(item('Dark')).toBeChecked();
  await expect(item('System')).toBeFocused();
  await page.keyboard.press('End');
  await expect(menu.getByRole('menuitem', { name: 'Log out' })).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(item('System')).toBeFocused();
  await page.keyboard.press('d');
  await expect(item('Dark')).toBeFocused();
  await page.keyboard.press('d');
  await expect(item('Deutsch')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(menu).toHaveCount(0);
  await expect(button).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+Tab');
  await expect(menu).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Search' })).toBeFocused();
  await button.click();
  await expect(menu).toBeVisible();
  await button.click();
  await expect(menu).toHaveCount(0);
  await button.focus();
  await page.keyboard.press('Enter');
  await item('Deutsch').click();
  await expect(page.getByRole('navigation', { name: 'Ansichten' })).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  expect(refused).toEqual([]);
});

test('Escape in the menu leaves the flow open', async ({ page }) => {
  await open(page, 'flows');
  await page.getByRole('table').locator('[data-index] button').first().click();
  await expect(page).toHaveURL(/flow=/);
  await page.getByRole('button', { name: 'User menu: root' }).click();
  await expect(page.getByRole('menu')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('menu')).toHaveCount(0);
  await expect(page).toHaveURL(/flow=/);
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/flow=/);
});

test('findings, alerts and edits are counted at their entries', async ({ page }) => {
  let alerts = 4;
  await open(page, 'flows', (answers) => {
    const found = Object.entries(answers).find(([key]) => key.startsWith('fastpath status'));
    const [, status] = (found?.[1] as { result: [number, Status] }).result;
    status.health = [
      { level: 'warning', code: 'wan-down', params: {}, text: 'one' },
      { level: 'error', code: 'wan-down', params: {}, text: 'two' },
    ];
    Object.defineProperty(status.ips, 'alerts', { get: () => alerts, enumerable: true });
  });
  await expect(link(page, 'Health')).toHaveAccessibleDescription('4 errors and warnings');
  await expect(link(page, 'Health').locator('[data-badge]')).toHaveText('4');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('wan-down');
  await expect(page.getByRole('option').filter({ hasText: 'Health' })).toHaveCount(2);
  await page.keyboard.press('Escape');
  await expect(link(page, 'Protection').locator('[data-badge]')).toHaveCount(0);
  alerts = 6;
  await page.clock.runFor(3000);
  await expect(link(page, 'Protection')).toHaveAccessibleDescription('2 new alerts');
  await link(page, 'Protection').click();
  await expect(link(page, 'Protection').locator('[data-badge]')).toHaveCount(0);

  await link(page, 'Firewall').click();
  await page.getByLabel('iot may open connections to lan', { exact: true }).check();
  await expect(page.getByRole('button', { name: '1 edit to review' })).toHaveText('1');
  await page.setViewportSize(PHONE);
  const settings = navigation(page).getByRole('button', { name: 'Settings', exact: true });
  await expect(settings).toHaveAccessibleDescription('4 errors and warnings');
  await expect(settings.locator('[data-badge]')).toHaveText('4');
});

interface Status {
  health: object[];
  ips: object;
}

for (const { colorScheme, locale, width } of [
  { colorScheme: 'light', locale: 'en-GB', width: 320 },
  { colorScheme: 'dark', locale: 'de-DE', width: 320 },
  { colorScheme: 'light', locale: 'de-DE', width: 768 },
  { colorScheme: 'dark', locale: 'en-GB', width: 1280 },
  { colorScheme: 'light', locale: 'de-DE', width: 1920 },
] as const) {
  test.describe(`${colorScheme}, ${locale}, ${width} px`, () => {
    test.use({ colorScheme, locale, viewport: { width, height: 740 } });

    test('navigation, sheet and menu are accessible and fit', async ({ page }) => {
      const refused = await open(page);
      const fits = () => page.evaluate(() => document.documentElement.scrollWidth);
      expect.soft(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: / root$/ }).click();
      await expect(page.getByRole('menu')).toBeVisible();
      expect.soft(await violations(page), 'menu').toEqual([]);
      expect(await fits()).toBeLessThanOrEqual(width);
      await page.keyboard.press('Escape');
      if (width < 768) {
        const name = locale === 'de-DE' ? 'Einstellungen' : 'Settings';
        await page.getByRole('button', { name }).click();
        await expect(page.getByRole('dialog')).toBeVisible();
        expect.soft(await violations(page), 'sheet').toEqual([]);
        expect(await fits()).toBeLessThanOrEqual(width);
      }
      expect(refused).toEqual([]);
    });
  });
}
