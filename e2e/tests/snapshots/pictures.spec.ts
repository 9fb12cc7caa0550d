// SPDX-License-Identifier: GPL-2.0-or-later
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, fontLoaded, long, screens, shown } from './screens';

/** Half of the size keeps the pictures small and still shows moved lines. */
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

/**
 * Returns whether browser and font render letters as in the pictures. Otherwise a comparison is
 * useless.
 */
async function rendersSameLetters(page: Page): Promise<boolean> {
  await page.setContent(LINE);
  const drawn = await page.locator('span').screenshot();
  if (process.env['RENEW']) {
    writeFileSync(LETTERS, drawn);
    return true;
  }
  return existsSync(LETTERS) && drawn.equals(readFileSync(LETTERS));
}

async function settledHeight(page: Page): Promise<number> {
  let height = 0;
  const unchanged = async () => {
    const before = height;
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
 * Makes the window as high as the page, and reloads it. Chromium pre-renders areas below the window
 * at varying times, which shifts thin lines by fractions of a pixel.
 */
async function fitWindow(page: Page, width: number): Promise<void> {
  const height = Math.max(HEIGHT, await settledHeight(page));
  await page.setViewportSize({ width, height });
  await page.reload();
}

/**
 * Forces a full repaint, because a part that moved by a fraction of a pixel may keep old dotted
 * lines.
 */
async function repaint(page: Page): Promise<void> {
  const frames = () =>
    page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  await page.emulateMedia({ forcedColors: 'active' });
  await frames();
  await page.emulateMedia({ forcedColors: 'none' });
  await frames();
}

async function picture(page: Page, name: string): Promise<void> {
  const window = page.viewportSize()?.height ?? 0;
  expect(await settledHeight(page), 'the page is in the window').toBeLessThanOrEqual(window);
  await repaint(page);
  const same = () =>
    expect(page).toHaveScreenshot(`${name}.png`, {
      fullPage: true,
      scale: 'device',
      timeout: 15_000,
    });
  // The page repeats calls whose answers were lost while it reconnected.
  await expect(same).toPass({ timeout: 3 * ASKED_MS, intervals: [ASKED_MS] });
}

for (const { look, locale, colorScheme, width } of looks) {
  test.describe(look, () => {
    const whole = look === 'light' || look === 'mobile';
    const viewport = { width, height: HEIGHT };
    test.use({ locale, colorScheme, viewport, deviceScaleFactor: SCALE });

    test.beforeEach(async ({ page }) => {
      await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' });
      const why = 'this browser renders letters differently from the pictures (--renew)';
      test.skip(!(await rendersSameLetters(page)), why);
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
        await fitWindow(page, width);
        await complete();
        await picture(page, `${look}-${screen}`);
        expect(unknown, 'questions that were not recorded (run --record)').toEqual([]);
      });
    }
  });
}
