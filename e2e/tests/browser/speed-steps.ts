// SPDX-License-Identifier: GPL-2.0-or-later

import type { Page } from '@playwright/test';
import { expect } from './fixture';

export interface Observed {
  /** First and largest contentful paint after opening the page, in ms. */
  paint: number;
  largest: number;
  /** Tasks of at least 50 ms and interactions of at least 16 ms since the last take(), in ms. */
  tasks: number[];
  interactions: number[];
}

declare global {
  interface Window {
    observed: { take: () => Observed };
  }
}

/** Runs in the page before all other scripts. */
export function observed(): void {
  const seen: Observed = { paint: 0, largest: 0, tasks: [], interactions: [] };
  const handle = (entries: PerformanceEntryList) => {
    for (const entry of entries) {
      const { entryType, name, startTime, duration } = entry;
      if (name === 'first-contentful-paint') seen.paint = startTime;
      if (entryType === 'largest-contentful-paint') seen.largest = startTime;
      if (entryType === 'longtask') seen.tasks.push(duration);
      const isInteraction = entryType === 'event' && 'interactionId' in entry;
      if (isInteraction && entry.interactionId !== 0) seen.interactions.push(duration);
    }
  };
  const observers = ['paint', 'largest-contentful-paint', 'longtask', 'event'].map((type) => {
    const observer = new PerformanceObserver((list) => handle(list.getEntries()));
    // TypeScript lacks `durationThreshold`.
    const options: object = { type, buffered: true, durationThreshold: 16 };
    observer.observe(options);
    return observer;
  });
  const take = () => {
    for (const observer of observers) handle(observer.takeRecords());
    return { ...seen, tasks: seen.tasks.splice(0), interactions: seen.interactions.splice(0) };
  };
  window.observed = { take };
}

/** Performs a step and waits until its result is shown; false if the page lacks the feature. */
export type Step = (page: Page) => Promise<boolean>;

// Locators by role or text would run on the timed main thread.
const flows = '.flow-table';
const first = `${flows} [data-index="0"]`;

async function press(page: Page, css: string): Promise<void> {
  const box = await page.locator(css).first().boundingBox();
  if (!box) throw new Error(`${css} is not shown`);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
}

export async function flowsOpened(page: Page, number: number): Promise<void> {
  const amount = async () =>
    Number(((await page.locator('main .amount').textContent()) ?? '').replace(/\D/g, ''));
  await expect.poll(amount).toBeGreaterThanOrEqual(number);
  await expect(page.locator(first)).toContainText(/TCP|UDP|ICMP/);
}

export const steps: Record<string, Step> = {
  'open Flows': async (page) => {
    await press(page, 'nav a[href="#/flows"]');
    await page.locator(flows).waitFor();
    return true;
  },
  'sort by bytes': async (page) => {
    const sorted = page.waitForResponse((response) =>
      /"sort":"bytes"/.test(response.request().postData() ?? ''),
    );
    await press(page, `${flows} .head button:text-is("Bytes")`);
    await sorted;
    await expect(page.locator(flows)).toHaveAttribute('aria-busy', 'false');
    return true;
  },
  'type a filter': async (page) => {
    await page.locator('main input[type=search]').focus();
    await page.keyboard.type('203.0.113.103', { delay: 60 });
    await expect(page.locator('main .amount')).toHaveText(/^[\d,]+ of /);
    await expect(page.locator(first)).toContainText('203.0.113.103');
    return true;
  },
  'open a flow': async (page) => {
    await press(page, `${first} button`);
    await page.locator('.of-flow h3').first().waitFor();
    return true;
  },
  'open the search': async (page) => {
    await page.keyboard.press('Control+K');
    // The header shows the shortcut only on pages that have the search.
    if ((await page.locator('header kbd').count()) === 0) return false;
    await page.locator('dialog.search').waitFor();
    return true;
  },
};
