// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from '@playwright/test';
import { fits } from './fit';
import { replay } from './replay';
import { entered, long, screens, shown } from './screens';

/** With LOOKS=FOLDER, the test also saves a picture of every screen at every width there. */
const drawn = process.env['LOOKS'];

// narrow.spec.ts covers 320 px in English with the light theme.
for (const width of [320, 768, 1280, 1920]) {
  for (const { look, locale, colorScheme } of [
    { look: 'light', locale: 'en-GB', colorScheme: 'light' },
    { look: 'dark', locale: 'en-GB', colorScheme: 'dark' },
    { look: 'German', locale: 'de-DE', colorScheme: 'light' },
  ] as const) {
    test.describe(`${width} px, ${look}`, () => {
      test.use({ locale, colorScheme, viewport: { width, height: 900 } });

      const whole = look === 'light' && width === 1280;

      for (const [screen, address] of Object.entries(screens)) {
        if (look === 'light' && width === 320) continue;
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
          await fits(page, screen, width);
        });
      }
    });
  }
}
