// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from '@playwright/test';
import { violations } from '../browser/axe';
import { replay } from './replay';
import { entered, long, screens, shown } from './screens';

/** With LOOKS, a folder, every screen at every width is drawn there as well. */
const drawn = process.env['LOOKS'];

for (const width of [320, 768, 1280, 1920]) {
  for (const { look, locale, colorScheme } of [
    { look: 'light', locale: 'en-GB', colorScheme: 'light' },
    { look: 'dark', locale: 'en-GB', colorScheme: 'dark' },
    { look: 'German', locale: 'de-DE', colorScheme: 'light' },
  ] as const) {
    test.describe(`${width} px, ${look}`, () => {
      test.use({ locale, colorScheme, viewport: { width, height: 900 } });

      const whole = look === 'light' && (width === 320 || width === 1280);

      for (const [screen, address] of Object.entries(screens)) {
        test(`${screen} fits and is accessible`, long(whole, screen), async ({ page }) => {
          await page.emulateMedia({ reducedMotion: 'reduce', colorScheme });
          await replay(page);
          await entered(page);
          await page.goto(`#/${address}`);
          await shown(page);
          await expect(page.locator('[data-connection=live]')).toBeVisible();
          if (drawn) {
            const path = `${drawn}/${width}-${look}-${screen}.png`;
            await page.screenshot({ path, fullPage: true });
          }
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          expect.soft(wide, `${screen} is too wide`).toBeLessThanOrEqual(width);
          const cut = await page.evaluate(() =>
            [...document.querySelectorAll('table')]
              .filter((table) => table.scrollWidth > (table.parentElement?.clientWidth ?? 0))
              .filter((table) => table.closest('.scroll, .hidden') === null)
              .map((table) => table.textContent),
          );
          expect.soft(cut, `tables of ${screen} beyond their panels`).toEqual([]);
          expect.soft(await violations(page), screen).toEqual([]);
        });
      }
    });
  }
}
