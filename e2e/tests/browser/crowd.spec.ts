// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, note, open, test } from './fixture';

const NUMBER = 20_000;
/** From typing to the filtered rows, the gateway's emulated answer included. */
const FILTERED_MS = 5000;
/** The browser's longest stretch of work without a break. */
const LONGEST_TASK_MS = 300;

test.afterEach(async ({ router }) => router.crowdOut());

test('20,000 flows can be scrolled and filtered', async ({ page, router }) => {
  test.setTimeout(120_000);
  await router.crowdIn(NUMBER);
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) tasks.push(entry.duration);
    }).observe({ type: 'longtask' });
  });
  await open(page, 'flows');
  await expect(page.getByText(/^20,\d{3} flows$/)).toBeVisible({ timeout: 30_000 });
  const table = page.getByRole('table', { name: 'Flows' });
  const body = table.getByRole('rowgroup').nth(1);
  for (const part of [0.5, 1, 0.25]) {
    await body.evaluate((element, at) => {
      element.scrollTop = (element.scrollHeight - element.clientHeight) * at;
    }, part);
    const first = await body.evaluate((element) => Math.floor(element.scrollTop / 32) + 2);
    const row = table.locator(`[aria-rowindex="${first}"]`);
    await expect(row).toContainText('UDP', { timeout: FILTERED_MS });
  }
  const typed = Date.now();
  await page.getByRole('searchbox', { name: 'Filter flows' }).fill('203.0.113.103 10.10.10.110');
  await expect(page.getByText(/^[\d,]+ of 20,\d{3} flows$/)).toBeVisible({ timeout: FILTERED_MS });
  await expect(table.getByRole('row').nth(1)).toContainText('203.0.113.103');
  const filtered = Date.now() - typed;
  const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks);
  const longest = Math.round(Math.max(0, ...tasks));
  note(`filtered after ${filtered} ms, longest task ${longest} ms`);
  expect(longest).toBeLessThan(LONGEST_TASK_MS);
});
