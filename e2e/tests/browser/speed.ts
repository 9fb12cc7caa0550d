// SPDX-License-Identifier: GPL-2.0-or-later
/**
 * Measures built pages on a throttled CPU with 20,000 flows. `e2e/bench/page` runs this file and
 * names the pages. The medians have no limit; they only compare pages.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, Page } from '@playwright/test';
import { expect, open, test } from './fixture';
import { flowsOpened, observed, type Observed, type Step, steps } from './speed-steps';
import { median, table, taskTimes, type Figures, type TaskTimes } from './speed-report';

const CPU_SLOWDOWN = 4;
const FLOWS = 20_000;
/** Duration of the start phase. Afterwards the page only polls every second. */
const START_MS = 8000;

const runs = Number(process.env['RUNS'] ?? 5);
const reports = process.env['REPORTS'] ?? '.';
/** `NAME=FOLDER`, separated by spaces. */
const pages = (process.env['PAGES'] ?? '')
  .split(' ')
  .filter(Boolean)
  .map((each) => {
    const [name = '', folder = ''] = each.split('=');
    return { name, folder };
  });

const types: Record<string, string> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
  json: 'application/json',
};

/** Serves the page from a folder and everything else from the router; collects loaded files. */
async function serve(context: BrowserContext, folder: string): Promise<Map<string, Buffer>> {
  const loaded = new Map<string, Buffer>();
  await context.route('**/fastpath/**', async (route) => {
    const { pathname } = new URL(route.request().url());
    const file = pathname.replace(/^.*\/fastpath\//, '') || 'index.html';
    const body = await readFile(join(folder, file));
    loaded.set(file, body);
    const contentType = types[file.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    await route.fulfill({ body, contentType });
  });
  return loaded;
}

const sum = (all: readonly number[]) => all.reduce((before, each) => before + each, 0);
const longest = (all: readonly number[]) => Math.max(0, ...all);

const kB = (all: Iterable<Buffer>, size: (each: Buffer) => number) =>
  sum([...all].map(size)) / 1000;

/** Total blocking time: the parts of tasks beyond 50 ms. */
const blocking = (tasks: readonly number[]) => sum(tasks.map((ms) => Math.max(0, ms - 50)));

async function take(page: Page): Promise<Observed> {
  return page.evaluate(async () => {
    // The browser reports the entries of a frame only after that frame.
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
    return window.observed.take();
  });
}

/** Returns CPU times of the page's tasks during `work` in ms, which other load hardly changes. */
async function cpuOf(page: Page, work: () => Promise<void>): Promise<TaskTimes> {
  const browser = page.context().browser();
  if (!browser) throw new Error('the page has no browser to trace');
  await browser.startTracing(page, { categories: ['toplevel', 'loading'] });
  await work();
  return taskTimes((await browser.stopTracing()).toString());
}

async function startOf(page: Page, loaded: Map<string, Buffer>): Promise<Figures> {
  await page.goto('about:blank');
  loaded.clear();
  const cpu = await cpuOf(page, async () => {
    await page.goto('#/overview');
    const since = () => page.evaluate(() => performance.now());
    await expect.poll(since, { timeout: 60_000 }).toBeGreaterThan(START_MS);
  });
  const { paint, largest, tasks } = await take(page);
  return {
    'first contentful paint, ms': paint,
    'largest contentful paint, ms': largest,
    'longest task of the start, ms': longest(tasks),
    'blocking time of the start, ms': blocking(tasks),
    'CPU until the first paint, ms': sum(cpu.untilPaint),
    'CPU of the start, ms': sum(cpu.all),
    'CPU of its longest task, ms': longest(cpu.all),
    'files, kB': kB(loaded.values(), ({ length }) => length),
    'files, gzip, kB': kB(loaded.values(), (each) => gzipSync(each).length),
  };
}

async function figuresOf(page: Page, name: string, step: Step): Promise<Figures> {
  await take(page);
  let done = false;
  const cpu = await cpuOf(page, async () => {
    done = await step(page);
  });
  const seen = await take(page);
  const known = (value: number) => (done ? value : null);
  return {
    // The browser reports no interactions below 16 ms.
    [`${name}, ms`]: known(Math.max(16, ...seen.interactions)),
    [`${name}, longest task, ms`]: known(longest(seen.tasks)),
    [`${name}, CPU, ms`]: known(sum(cpu.all)),
    [`${name}, CPU of the longest task, ms`]: known(longest(cpu.all)),
  };
}

async function measure(browser: Browser, baseURL: string, folder: string): Promise<Figures> {
  const context = await browser.newContext({
    baseURL,
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
  });
  try {
    const loaded = await serve(context, folder);
    const page = await context.newPage();
    await page.addInitScript(observed);
    await open(page, 'overview');
    const cdp = await context.newCDPSession(page);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
    const figures = await startOf(page, loaded);
    for (const [name, step] of Object.entries(steps)) {
      Object.assign(figures, await figuresOf(page, name, step));
      if (step === steps['open Flows']) await flowsOpened(page, FLOWS);
    }
    figures['all files, gzip, kB'] = kB(loaded.values(), (each) => gzipSync(each).length);
    return figures;
  } finally {
    await context.close();
  }
}

test.describe.configure({ timeout: pages.length * runs * 180_000 });

test.afterEach(async ({ router }) => router.removeConnections());

test('measures the built pages', async ({ browser, baseURL, router }) => {
  await router.addConnections(FLOWS);
  const measured: Record<string, Figures[]> = Object.fromEntries(
    pages.map(({ name }) => [name, []]),
  );
  for (let run = 0; run < runs; run += 1) {
    const turn = run % pages.length;
    for (const { name, folder } of [...pages.slice(turn), ...pages.slice(0, turn)]) {
      measured[name]?.push(await measure(browser, baseURL ?? '', folder));
    }
    await writeFile(join(reports, 'page.json'), JSON.stringify(measured, null, 2));
  }
  const medians = Object.entries(measured).map(([name, all]) => [name, median(all)] as const);
  await writeFile(join(reports, 'page.txt'), table(medians));
});
