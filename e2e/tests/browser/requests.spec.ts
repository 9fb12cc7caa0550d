// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { expect, live, note, open, requests, screens, test, WINDOW_MS } from './fixture';

const PER_SECOND = 2;

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
  // One screen for every change, the others by name.
  const tag = screen === 'flows' ? [] : ['@long'];
  test(`at most two requests a second: ${screen}`, { tag }, async ({ page }) => {
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
