// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import {
  core,
  expect,
  live,
  logIn,
  note,
  open,
  requests,
  screens,
  test,
  WINDOW_MS,
} from './fixture';
import { placed } from './place';

const PER_SECOND = 3;

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
  // The short tier covers one screen, the long tier the others.
  const tag = screen === 'flows' ? [] : ['@long'];
  test(`at most three requests a second: ${screen}`, { tag }, async ({ page }) => {
    await open(page, screen);
    const seen = await requests(page);
    note(`${seen.length} requests in ${WINDOW_MS / 1000} s`);
    expect(seen.length).toBeLessThanOrEqual((WINDOW_MS / 1000) * PER_SECOND);
  });
}

test('a hidden tab sends no requests, and is live again when visible', async ({ page }) => {
  await open(page, 'flows');
  await setVisible(page, false);
  const seen = await requests(page);
  expect(seen.map((request) => request.postData() ?? request.url())).toEqual([]);
  await setVisible(page, true);
  await live(page);
});

/** Counts the web server's open files, which include its connections. */
const COUNT_OPEN_FILES = 'ls /proc/$(pidof uhttpd || pidof fastpath-standin)/fd | wc -l';

test(
  'closed pages leave no connection to the router',
  core,
  async ({ page, browser, baseURL, router }) => {
    await open(page, 'overview');
    await page.close();
    const openFiles = async () => Number(await router.run(COUNT_OPEN_FILES));
    const before = await openFiles();
    const asked: string[] = [];
    for (let visit = 0; visit < 8; visit += 1) {
      const visitor = placed(await browser.newPage({ baseURL: baseURL ?? '' }));
      visitor.on('request', (each) => asked.push(new URL(each.url()).pathname));
      await visitor.goto('#/overview');
      await logIn(visitor);
      await live(visitor);
      await visitor.close();
    }
    expect(asked.filter((path) => path.includes('/subscribe/'))).toEqual([]);
    // Idle connections close after the keep-alive timeout.
    await expect.poll(openFiles, { timeout: 120_000 }).toBeLessThanOrEqual(before);
  },
);
