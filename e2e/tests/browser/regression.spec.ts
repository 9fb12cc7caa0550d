// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, type Page } from '@playwright/test';
import { violations } from './axe';
import { live, passwords, test } from './fixture';
import { standaloneOnly } from './place';

standaloneOnly();

const words = {
  'en-GB': { user: 'User name', password: 'Password', enter: 'Log in' },
  'de-DE': { user: 'Benutzername', password: 'Passwort', enter: 'Anmelden' },
} as const;
type Locale = keyof typeof words;

const screens = [
  ...['overview', 'devices', 'flows', 'protection', 'topology', 'health', 'network', 'wan'],
  ...['fastpath', 'firewall', 'cpu', 'export', 'system', 'wizard'],
];

async function enter(page: Page, locale: Locale): Promise<void> {
  const { user, password, enter } = words[locale];
  await page.goto('');
  await page.getByLabel(user).fill('root');
  await page.getByLabel(password, { exact: true }).fill(passwords.root);
  await page.getByRole('button', { name: enter, exact: true }).click();
  await expect(page.locator('[data-connection]')).toBeVisible();
}

async function show(page: Page, screen: string): Promise<void> {
  await page.goto(`#/${screen}`);
  await expect(page.locator('main').locator('.panel:visible, [role=table]').first()).toBeVisible();
  await expect(page.locator('main .waiting')).toHaveCount(0);
  await expect(page.locator('[role=table] .message')).toHaveCount(0);
}

// Two combinations only; snapshots/widths.spec.ts covers all of them with recorded answers.
const layouts: { locale: Locale; colorScheme: 'light' | 'dark'; width: number }[] = [
  { locale: 'en-GB', colorScheme: 'light', width: 1280 },
  { locale: 'de-DE', colorScheme: 'dark', width: 320 },
];

for (const { locale, colorScheme, width } of layouts) {
  test.describe(`every screen, ${locale}, ${colorScheme}, ${width} px`, () => {
    test.use({ locale, colorScheme, viewport: { width, height: 800 } });

    test('fits and is accessible', async ({ page, router }) => {
      await router.run(`for i in $(seq 40); do logger -t netifd "Interface 'wan' dials: $i"; done`);
      await page.emulateMedia({ reducedMotion: 'reduce', colorScheme });
      await enter(page, locale);
      for (const screen of screens) {
        await show(page, screen);
        if (screen === 'wan') await expect(page.getByText('dials: 40')).toBeAttached();
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect.soft(wide, `${screen} is too wide`).toBeLessThanOrEqual(width);
        expect.soft(await violations(page), screen).toEqual([]);
      }
    });
  });
}

test('? opens the shortcuts and the glossary, and a term is explained in place', async ({
  page,
}) => {
  await enter(page, 'en-GB');
  await live(page);
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(keys.getByText('Next control', { exact: false })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(keys).toBeHidden();
  await show(page, 'firewall');
  const button = page.getByRole('button', { name: 'What does “Zone” mean?' });
  await button.focus();
  await page.keyboard.press('Enter');
  await expect(page.getByText('Interfaces with the same firewall rights.')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByText('Interfaces with the same firewall rights.')).toBeHidden();
});
