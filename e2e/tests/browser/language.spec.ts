// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, live, test, userMenu } from './fixture';
import { standaloneOnly } from './place';

standaloneOnly();

/** Matches message keys, which the page shows in place of missing messages. */
const keys =
  /\b(flows?|column|kind|col|wan|chart|paths|engine|health|topology|state|alerts|policy)\.[a-z]/;

test.describe('for a browser that prefers German', () => {
  test.use({ locale: 'de-AT' });

  test('the page is German, and English once chosen, also after a reload', async ({ page }) => {
    await page.goto('#/overview');
    await expect(page.getByRole('heading', { name: 'Anmelden' })).toBeVisible();
    await expect(page.locator('html')).toHaveAttribute('lang', 'de');
    await page.getByLabel('Benutzername').fill('root');
    await page.getByLabel('Passwort', { exact: true }).fill('falsch');
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await expect(page.getByRole('alert')).toHaveText('Benutzername oder Passwort ist falsch.');
    await page.getByLabel('Passwort', { exact: true }).fill('fastpath');
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await live(page);
    await expect(page).toHaveTitle(/^(\d+ Befunde? · )?Übersicht · \S+ · fastpath$/);
    await expect(page.getByRole('region', { name: 'Durchsatz nach Pfad' })).toBeVisible();
    await expect(page.locator('[data-figure="offload"]')).toHaveText(/^\d+,\d|^100\b|^–/);
    for (const screen of ['Geräte', 'Verbindungen', 'Schutz', 'Topologie', 'Übersicht']) {
      const link = page
        .getByRole('navigation', { name: 'Ansichten' })
        .getByRole('link', { name: screen });
      await link.click();
      await expect(link).toHaveAttribute('aria-current', 'page');
      await expect(page.getByRole('main')).not.toContainText(keys);
    }

    const german = await userMenu(page, 'Benutzermenü: root');
    await german.getByRole('menuitemradio', { name: 'English' }).click();
    await expect(page.getByRole('heading', { name: 'Throughput by path' })).toBeVisible();
    await expect(page.locator('html')).toHaveAttribute('lang', 'en');
    await page.reload();
    await expect(page.getByRole('heading', { name: 'Throughput by path' })).toBeVisible();
    const english = await userMenu(page);
    await english.getByRole('menuitemradio', { name: 'Deutsch' }).click();
    await expect(page.getByRole('heading', { name: 'Durchsatz nach Pfad' })).toBeVisible();
  });
});

test('a missing catalogue leaves the language unchanged', async ({ page, watch }) => {
  watch.expectOutage();
  await page.goto('#/overview');
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible();
  await page.route('**/assets/de-*.js', (route) => route.abort());
  const choice = page.getByRole('combobox', { name: 'Language' });
  await choice.selectOption('Deutsch');
  await expect(choice).toHaveValue('en');
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible();
});
