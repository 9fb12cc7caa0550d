// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type CDPSession, type Page } from '@playwright/test';
import { replay, resultOf } from './replay';
import { entered, shown } from './screens';

test.use({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });

/** The daemon lists at most 512. Nine in ten were seen once, and have neither name nor traffic. */
const CROWD = 500;

interface Device {
  [field: string]: unknown;
}

const pair = (n: number) => n.toString(16).padStart(2, '0');

async function open(page: Page, number: number): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page, (answers) => {
    const all = resultOf<{ devices: Device[] }>(answers, 'fastpath devices {}');
    const like = all.devices[0];
    all.devices = Array.from({ length: number }, (_, i) => ({
      ...like,
      mac: `02:00:00:00:${pair(i >> 8)}:${pair(i & 255)}`,
      name: i % 10 === 0 ? `device ${i}` : '',
      addresses: [`10.20.${Math.floor(i / 250)}.${(i % 250) + 2}`],
      known: i % 10 === 0,
      down_bps: i % 10 === 0 ? i * 1000 : 0,
    }));
  });
  await entered(page);
  await page.goto('#/devices');
  await shown(page);
}

const rows = (page: Page) => page.locator('tr[data-device]:not([data-device=others])');

/** Notes time of scripts and memory of the page for the report. */
async function measured(cdp: CDPSession, what: string): Promise<void> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  const of = (name: string) => metrics.find((each) => each.name === name)?.value ?? NaN;
  const script = `${Math.round(of('ScriptDuration') * 1000)} ms of scripts`;
  const heap = `${(of('JSHeapUsedSize') / 1e6).toFixed(1)} MB`;
  const description = `${what}: ${script}, ${heap}, ${of('Nodes')} nodes`;
  test.info().annotations.push({ type: 'note', description });
}

test('500 devices need no more rows than a hundred, until all are wanted', async ({ page }) => {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  await open(page, 4);
  await measured(cdp, '4 devices');
  await page.goto('about:blank');
  await open(page, CROWD);
  await expect(rows(page)).toHaveCount(100);
  await expect(rows(page).first()).toContainText('device 490');
  await measured(cdp, `${CROWD} devices, 100 rows`);
  await page.getByRole('button', { name: '400 more' }).click();
  await expect(rows(page)).toHaveCount(CROWD);
  await rows(page).last().scrollIntoViewIfNeeded();
  await expect(rows(page).last()).toBeInViewport();
  await measured(cdp, `${CROWD} devices, all rows, scrolled`);
  const column = page.getByRole('columnheader', { name: 'Device', exact: true });
  await column.getByRole('button').click();
  await expect(rows(page).first()).toContainText('device 0');
  await page.getByRole('searchbox', { name: 'Search devices' }).fill('10.20.1.2');
  await expect(rows(page).first()).toContainText('device 250');
  // 10.20.1.2, 20 to 29 and 200 to 251
  await expect(rows(page)).toHaveCount(63);
});
