// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page, Request } from '@playwright/test';
import { expect, live, note, open, screens, test } from './fixture';

/** How long is counted. Not a wait for anything: the time itself is what is measured. */
const WINDOW_MS = 8000;
const PER_SECOND = 2;

/** Requests begun within the window. */
async function requests(page: Page): Promise<Request[]> {
  const seen: Request[] = [];
  const listener = (request: Request) => seen.push(request);
  page.on('request', listener);
  await page.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), WINDOW_MS);
  page.off('request', listener);
  return seen;
}

async function setVisible(page: Page, visible: boolean): Promise<void> {
  await page.evaluate(
    (state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
      document.dispatchEvent(new Event('visibilitychange'));
    },
    visible ? 'visible' : 'hidden',
  );
}

for (const screen of screens) {
  test(`at most two requests a second: ${screen}`, async ({ page }) => {
    await open(page, screen);
    const seen = await requests(page);
    note(`${seen.length} requests in ${WINDOW_MS / 1000} s`);
    expect(seen.length).toBeLessThanOrEqual((WINDOW_MS / 1000) * PER_SECOND);
  });
}

test('a hidden tab asks nothing, and is live again when seen', async ({ page }) => {
  await open(page, 'flows');
  const ended = page.waitForEvent('requestfailed', (each) => each.url().includes('/subscribe/'));
  await setVisible(page, false);
  await ended;
  const seen = await requests(page);
  expect(seen.map((request) => request.postData() ?? request.url())).toEqual([]);
  await setVisible(page, true);
  await live(page);
});
