// SPDX-License-Identifier: GPL-2.0-or-later
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, fontLoaded, long, screens, shown } from './screens';

/** Half of each length: moved lines are still detected, and the pictures stay small. */
const SCALE = 0.5;
const HEIGHT = 640;
const DRAWN_MS = 300;
const ASKED_MS = 4000;

const looks = [
  { look: 'light', locale: 'en-GB', colorScheme: 'light', width: 1280 },
  { look: 'dark', locale: 'en-GB', colorScheme: 'dark', width: 1280 },
  { look: 'mobile', locale: 'en-GB', colorScheme: 'light', width: 320 },
  { look: 'german', locale: 'de-DE', colorScheme: 'light', width: 1280 },
] as const;

const LINE = '<span style="font: 16px system-ui; background: white">Ångström 0123 → fjord</span>';
const LETTERS = fileURLToPath(new URL('pictures/letters.png', import.meta.url));

/** Another browser or font renders letters differently, which makes pictures incomparable. */
async function lettersAreTheSame(page: Page): Promise<boolean> {
  await page.setContent(LINE);
  const drawn = await page.locator('span').screenshot();
  if (process.env['RENEW']) {
    writeFileSync(LETTERS, drawn);
    return true;
  }
  return existsSync(LETTERS) && drawn.equals(readFileSync(LETTERS));
}

/** Waits until the page has drawn its last answer and stopped moving; returns its height. */
async function settledHeight(page: Page): Promise<number> {
  let height = 0;
  const unchanged = async () => {
    const before = height;
    // The page draws the last answer when idle.
    height = await page.evaluate(async (ms) => {
      await new Promise((done) => setTimeout(() => requestIdleCallback(done), ms));
      return document.body.scrollHeight;
    }, DRAWN_MS);
    return height === before;
  };
  await expect.poll(unchanged, { intervals: [0], timeout: 15_000 }).toBe(true);
  return height;
}

/**
 * Makes the window as high as the page, and reloads. Chromium renders areas below the window at any
 * time, which shifts thin lines by fractions of a pixel.
 */
async function wholeInView(page: Page, width: number): Promise<void> {
  const height = Math.max(HEIGHT, await settledHeight(page));
  await page.setViewportSize({ width, height });
  await page.reload();
}

/** Forces a full repaint: a part moved by a fraction of a pixel may keep its old dotted lines. */
async function drawnAgain(page: Page): Promise<void> {
  const frames = () =>
    page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  await page.emulateMedia({ forcedColors: 'active' });
  await frames();
  await page.emulateMedia({ forcedColors: 'none' });
  await frames();
}

/** Compares a whole screen of any length. */
async function picture(page: Page, name: string): Promise<void> {
  const window = page.viewportSize()?.height ?? 0;
  expect(await settledHeight(page), 'the page is in the window').toBeLessThanOrEqual(window);
  await drawnAgain(page);
  const same = () =>
    expect(page).toHaveScreenshot(`${name}.png`, {
      fullPage: true,
      scale: 'device',
      timeout: 15_000,
    });
  // Answers that were lost while the page looked for the router are requested again.
  await expect(same).toPass({ timeout: 3 * ASKED_MS, intervals: [ASKED_MS] });
}

for (const { look, locale, colorScheme, width } of looks) {
  test.describe(look, () => {
    const whole = look === 'light' || look === 'mobile';
    const viewport = { width, height: HEIGHT };
    test.use({ locale, colorScheme, viewport, deviceScaleFactor: SCALE });

    test.beforeEach(async ({ page }) => {
      await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' });
      const why = 'this browser draws letters otherwise than the one of the pictures (--renew)';
      test.skip(!(await lettersAreTheSame(page)), why);
      await page.emulateMedia({ reducedMotion: 'reduce', colorScheme });
    });

    test('login', long(whole, 'login'), async ({ page }) => {
      await replay(page);
      await page.goto('');
      await expect(page.locator('form')).toBeVisible();
      await fontLoaded(page);
      await picture(page, `${look}-login`);
    });

    for (const [screen, address] of Object.entries(screens)) {
      test(screen, long(whole, screen), async ({ page }) => {
        const { unknown, awaited } = await replay(page);
        await entered(page);
        await page.goto(`#/${address}`);
        const complete = async () => {
          await shown(page);
          await expect(page.locator('[data-connection=live]')).toBeVisible();
          const questions = () => awaited(screen);
          await expect.poll(questions, { intervals: [100], timeout: 15_000 }).toEqual([]);
          await shown(page);
          await expect(page.locator('main [aria-busy=true]')).toHaveCount(0, { timeout: 15_000 });
        };
        await complete();
        await wholeInView(page, width);
        await complete();
        await picture(page, `${look}-${screen}`);
        expect(unknown, 'questions that were not recorded (run --record)').toEqual([]);
      });
    }
  });
}
