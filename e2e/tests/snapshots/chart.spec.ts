// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { RECORDING, replay, resultOf, type Recording } from './replay';
import { entered, shown } from './screens';

test.use({ locale: 'en-GB', viewport: { width: 1280, height: 800 } });

const { answers: recorded } = JSON.parse(readFileSync(RECORDING, 'utf8')) as Recording;
const status = recorded['fastpath status {}'] as { result: [number, { now_ms: number }] };
const at_ms = status.result[1].now_ms;
const COLS = ['at_ms', 'slow', 'inspect', 'flowtable', 'hardware', 'ebpf'];
const QUARTERS = 'fastpath usage {"step":"quarter"}';
const JOURNAL = 'fastpath journal {"limit":500}';
const HISTORY = 'fastpath history {"series":"rate","step_s":';

/** Samples up to the recorded time, each with a different rate. */
function history(step_s: number, number: number) {
  const rows = Array.from({ length: number }, (_, i) => {
    const at = at_ms - (number - 1 - i) * step_s * 1000;
    return [at, 1e6 + i * 1000, 0, 5e6, 0, 0];
  });
  return { result: [0, { series: 'rate', step_s, cols: COLS, rows }] };
}

const chart = (page: Page) => page.getByRole('region', { name: 'Throughput by path' });
const areas = (page: Page) => chart(page).getByRole('img', { name: /^Throughput/ });
const keys = (page: Page) => chart(page).getByRole('slider', { name: 'Time' });
const reset = (page: Page) => chart(page).getByRole('button', { name: 'Reset zoom' });
const clock = (page: Page) => chart(page).locator('.at');

async function open(
  page: Page,
  screen = 'overview',
  edit: (answers: Recording['answers']) => void = () => undefined,
): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' });
  await replay(page, (answers) => {
    edit(answers);
    answers[`${HISTORY}1}`] = history(1, 300);
    answers[`${HISTORY}10}`] = history(10, 360);
    answers[`${HISTORY}60}`] = history(60, 1440);
    answers[QUARTERS] = usage('quarter', 0, () => true);
    answers[JOURNAL] = journal;
  });
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
  await expect(page.locator('figure[aria-busy=false]')).toBeVisible();
}

/** Returns the colours on the canvas; an empty canvas has one. */
function coloursOf(image: Locator): Promise<string[]> {
  return image.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
    const pen = canvas.getContext('2d');
    const pixels = pen?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    const seen = new Set<string>();
    for (let i = 0; i < pixels.length; i += 4) seen.add(pixels.slice(i, i + 4).join());
    return [...seen];
  });
}

async function drag(
  page: Page,
  from: number,
  to: number,
  begun: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  await areas(page).scrollIntoViewIfNeeded();
  const box = await chart(page).locator('.u-over').boundingBox();
  if (!box) throw new Error('no chart');
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await begun();
  await page.mouse.move(box.x + ((from + to) / 2) * box.width, y);
  await page.mouse.move(box.x + to * box.width, y);
  await page.mouse.up();
}

for (const deviceScaleFactor of [0.5, 1, 1.25]) {
  test.describe(`with a device pixel ratio of ${deviceScaleFactor}`, () => {
    test.use({ deviceScaleFactor });

    test('the chart is drawn without violating the policy', async ({ page }) => {
      const violations: string[] = [];
      page.on('console', (line) => {
        if (/Content Security Policy|Trusted/.test(line.text())) violations.push(line.text());
      });
      page.on('pageerror', (error) => violations.push(error.message));
      await open(page);
      expect((await coloursOf(areas(page))).length).toBeGreaterThan(8);
      expect(violations).toEqual([]);
    });
  });
}

test('the pointer shows the values at its position', async ({ page }) => {
  await open(page);
  const newest = await clock(page).textContent();
  const over = await chart(page).locator('.u-over').boundingBox();
  await page.mouse.move((over?.x ?? 0) + (over?.width ?? 0) / 2, (over?.y ?? 0) + 50);
  await expect(clock(page)).not.toHaveText(newest ?? '');
  await expect(chart(page).locator('.u-cursor-x')).toBeVisible();
  await page.mouse.move(0, 0);
  await expect(clock(page)).toHaveText(newest ?? '');
});

test('arrow keys move the cursor, and its values are announced', async ({ page }) => {
  await open(page);
  await expect(keys(page)).toHaveAttribute('aria-valuetext', 'newest values');
  await keys(page).focus();
  await page.keyboard.press('Home');
  const first = new Date(at_ms - 299_000).toISOString().slice(11, 19);
  await expect(keys(page)).toHaveAttribute(
    'aria-valuetext',
    new RegExp(`^${first}: .*Slow path 1.00 Mbit/s`),
  );
  await expect(clock(page)).toHaveText(first);
  const before = await keys(page).getAttribute('aria-valuenow');
  await page.keyboard.press('ArrowRight');
  await expect(keys(page)).toHaveAttribute('aria-valuenow', String(Number(before) + 1));
  await page.keyboard.press('Escape');
  await expect(keys(page)).toHaveAttribute('aria-valuetext', 'newest values');
});

test('a drag beyond the chart zooms to its edge', async ({ page }) => {
  await open(page);
  await drag(page, 0.5, 1.02);
  await expect(reset(page)).toBeVisible();
  await page.mouse.move(0, 0);
  await keys(page).press('Home');
  const from = (await clock(page).textContent()) ?? '';
  const middle = new Date(at_ms - 150_000).toISOString().slice(11, 16);
  expect(from.slice(0, 5)).toBe(middle);
});

test('a drag zooms, and button, double click and Escape reset it', async ({ page }) => {
  await open(page);
  const ends: (() => Promise<void>)[] = [
    () => reset(page).click(),
    () => chart(page).locator('.u-over').dblclick(),
    () => keys(page).press('Escape'),
  ];
  for (const end of ends) {
    const before = await placeOf(page);
    await drag(page, 0.25, 0.5);
    await expect(reset(page)).toBeVisible();
    await page.mouse.move(0, 0);
    await keys(page).press('Home');
    const from = (await clock(page).textContent()) ?? '';
    const left_ms = at_ms - 300_000 + 75_000;
    expect(
      Math.abs(Date.parse(`${new Date(at_ms).toISOString().slice(0, 10)}T${from}Z`) - left_ms),
    ).toBeLessThan(4000);
    await end();
    await expect(reset(page)).toHaveCount(0);
    expect(await placeOf(page)).toEqual(before);
  }
});

/** Offset and size of the chart in its panel, which zooming must not change. */
async function placeOf(page: Page): Promise<number[]> {
  const [inner, outer] = await Promise.all([areas(page).boundingBox(), chart(page).boundingBox()]);
  if (!inner || !outer) throw new Error('no chart');
  return [inner.x - outer.x, inner.y - outer.y, inner.width, inner.height];
}

test('keys zoom around the cursor and pan', async ({ page }) => {
  await open(page);
  await keys(page).focus();
  await page.keyboard.press('+');
  await expect(reset(page)).toBeVisible();
  await page.keyboard.press('Home');
  const first = Number(await keys(page).getAttribute('aria-valuenow'));
  expect(first).toBeGreaterThan(60);
  await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Home');
  expect(Number(await keys(page).getAttribute('aria-valuenow'))).toBeLessThan(first);
  await page.keyboard.press('-');
  await page.keyboard.press('-');
  await expect(reset(page)).toHaveCount(0);
});

test('the chart shows 5 minutes, an hour or a day', async ({ page }) => {
  await open(page);
  const span = (name: string) => chart(page).getByRole('button', { name, exact: true });
  await expect(span('5 min')).toHaveAttribute('aria-pressed', 'true');
  for (const [name, words, number] of [
    ['1 h', 'Throughput of the last hour', 360],
    ['24 h', 'Throughput of the last 24 hours', 1440],
  ] as const) {
    await span(name).click();
    await expect(span(name)).toHaveAttribute('aria-pressed', 'true');
    await expect(areas(page)).toHaveAccessibleName(new RegExp(`^${words}: now`));
    await expect(keys(page)).toHaveAttribute('aria-valuemax', String(number - 1));
  }
  await keys(page).press('Home');
  await expect(clock(page)).toHaveText(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC$/);
  await span('5 min').click();
  await expect(areas(page)).toHaveAccessibleName(/^Throughput of the last 5 minutes/);
});

test('the chart follows the colour scheme and the width', async ({ page }) => {
  await open(page);
  const light = await coloursOf(areas(page));
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(() => coloursOf(areas(page))).not.toEqual(light);
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
  await expect.poll(async () => (await coloursOf(areas(page))).length).toBeGreaterThan(8);
  await page.emulateMedia({ forcedColors: 'none' });
  await page.setViewportSize({ width: 400, height: 800 });
  const canvas = areas(page).locator('canvas');
  await expect
    .poll(async () => {
      const [inner, outer] = await Promise.all([canvas.boundingBox(), areas(page).boundingBox()]);
      return [inner?.width, inner?.height].join() === [outer?.width, outer?.height].join();
    })
    .toBe(true);
});

test('without its library the chart is a table', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page);
  await page.route('**/assets/uPlot*', (route) => route.abort());
  await entered(page);
  await page.goto('#/overview');
  await expect(chart(page).getByRole('table')).toBeVisible();
  await expect(chart(page).getByRole('button', { name: 'Show as chart' })).toBeVisible();
});

/** Recorded quarter hours or days before the recorded time; `missing` has no record. */
function usage(step: 'quarter' | 'day', number: number, missing: (i: number) => boolean) {
  const step_ms = step === 'quarter' ? 900_000 : 86_400_000;
  const first = Math.floor(at_ms / step_ms) - number + 1;
  const rows = Array.from({ length: number }, (_, i) => [
    ...[(first + i) * step_ms, step_ms / 1000, 1e9, 1e9, 1e9, 1e8, 0, 2e9, 0, 0, i % 3, i % 5],
  ]).filter((_, i) => !missing(i));
  const cols = [
    ...['at_ms', 'recorded_s', 'up_bytes', 'down_bytes', 'offloaded_bytes', 'slow_bytes'],
    ...['inspect_bytes', 'flowtable_bytes', 'hardware_bytes', 'ebpf_bytes'],
    ...['alerts_allowed', 'alerts_blocked'],
  ];
  const storage = { state: 'on', why: '', saved_ms: at_ms, size: 1 };
  return { result: [0, { step, cols, rows, more: false, devices: [], wans: [], storage }] };
}

const journal = {
  result: [
    0,
    {
      events: [
        { at_ms: at_ms - 60_000, kind: 'new-device', about: '52:54:00:02:00:01' },
        { at_ms: at_ms - 70_000, kind: 'quota', about: '52:54:00:02:00:01 500' },
        { at_ms: at_ms - 80_000, kind: 'alert', about: '7 52:54:00:02:00:01 3 Bad page' },
        { at_ms: at_ms - 85_000, kind: 'wifi', about: '52:54:00:02:00:01 moved ap1 My home' },
        { at_ms: at_ms - 90_000, kind: 'alert', about: '7 - 2 Bad page' },
        { at_ms: at_ms - 20 * 86_400_000, kind: 'wan-down', about: 'wan' },
        { at_ms: at_ms - 20 * 86_400_000 - 1, kind: 'solstice', about: 'x' },
      ].map((event, i) => ({ ...event, id: 9 - i, name: i < 4 ? 'tv' : '' })),
      last_id: 9,
      storage: { state: 'on', why: '', saved_ms: 0, size: 0 },
    },
  ],
};

async function openPast(page: Page, screen = 'overview', missing = 10): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'light' });
  await replay(page, (answers) => {
    answers[QUARTERS] = usage('quarter', 2881, (i) => i % 96 < missing);
    answers['fastpath usage {"step":"day"}'] = usage('day', 366, (i) => i < missing * 10);
    answers[JOURNAL] = journal;
  });
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
}

const span = (page: Page, name: string) =>
  chart(page).getByRole('button', { name, exact: true }).click();
const event = (page: Page, kind: string) => chart(page).locator(`[data-event=${kind}]`);

test('months come from flash, with events, and without a record it is said', async ({ page }) => {
  await openPast(page);
  await span(page, '30 d');
  await expect(areas(page)).toHaveAccessibleName(/^Throughput of the last 30 days: now/);
  // A record is missing in one or two of 24 hours, and partly in adjacent ones.
  const number = Number(await keys(page).getAttribute('aria-valuemax'));
  expect([number > 640, number < 700]).toEqual([true, true]);
  await expect(chart(page).locator('[data-fact=gaps]')).toHaveText('Hatched: no record');
  await expect(event(page, 'wan-down')).toContainText('wan: connection lost');
  await expect(event(page, 'new-device').getByRole('link')).toHaveAttribute('href', /devices\?mac/);
  await expect(event(page, 'new-device')).toContainText('New device tv');
  await expect(event(page, 'quota')).toContainText('tv: quota of 500 MB exceeded');
  await expect(event(page, 'alert')).toContainText(['3 × Bad page (tv)', '2 × Bad page']);
  await expect(event(page, 'wifi')).toContainText('tv moved to My home (ap1)');
  await expect(event(page, 'wifi').getByRole('link')).toHaveAttribute('href', /devices\?mac/);
  await expect(event(page, 'solstice')).toContainText('solstice x');
  await span(page, '12 mo');
  await expect(areas(page)).toHaveAccessibleName(/^Throughput of the last 12 months: now/);
  await expect(keys(page)).toHaveAttribute('aria-valuemax', '265');
});

test('a complete record has no gaps', async ({ page }) => {
  await openPast(page, 'overview', 0);
  await span(page, '30 d');
  await expect(areas(page)).toHaveAccessibleName(/^Throughput of the last 30 days: now/);
  await expect(chart(page).locator('[data-fact=gaps]')).toHaveCount(0);
});

test('periods without a record are hatched', async ({ page }) => {
  // Hatches reach the upper edge, where a complete record has at most its peaks.
  const painted = async (missing: number) => {
    await page.goto('about:blank');
    await openPast(page, 'overview', missing);
    await span(page, '12 mo');
    await expect(areas(page)).toHaveAccessibleName(/^Throughput of the last 12 months: now/);
    return areas(page)
      .locator('canvas')
      .evaluate((canvas: HTMLCanvasElement) => {
        const pen = canvas.getContext('2d');
        const pixels = pen?.getImageData(0, 0, canvas.width, canvas.height / 8).data ?? [];
        return pixels.filter((value, i) => i % 4 === 3 && value > 0).length;
      });
  };
  const complete = await painted(0);
  const hatched = await painted(10);
  test.info().annotations.push({ type: 'note', description: `${complete}, ${hatched} pixels` });
  expect(hatched).toBeGreaterThan(1.15 * complete);
});

test('a period selected by mouse or keys has its events, flows and alerts', async ({ page }) => {
  await openPast(page);
  await span(page, '30 d');
  await expect(event(page, 'wan-down')).toBeVisible();
  await expect(areas(page)).toHaveAccessibleName(/^Throughput of the last 30 days: now/);
  const flows = chart(page).getByRole('link', { name: 'Flows of this time' });
  const ends: (() => Promise<void>)[] = [
    () => drag(page, 0.2, 0.5),
    async () => {
      await keys(page).press('+');
      await keys(page).press('Shift+ArrowLeft');
    },
  ];
  for (const select of ends) {
    await expect(flows).toHaveCount(0);
    await select();
    await expect(flows).toBeVisible({ timeout: 5000 });
    await expect(event(page, 'wan-down')).toBeVisible();
    await expect(event(page, 'new-device')).toHaveCount(0);
    await expect(flows).toHaveAttribute('href', /#\/flows\?from=\d+&to=\d+&ended=1/);
    await keys(page).press('Escape');
  }
  await drag(page, 0.2, 0.5);
  const asked = page.waitForRequest((request) => !!request.postData()?.includes('from_ms'));
  await flows.click();
  const { params } = (await asked).postDataJSON() as { params: [...string[], object] };
  const { filter } = params.at(-1) as unknown as { filter: { from_ms: number; to_ms: number } };
  const days = (ms: number) => Math.round((at_ms - ms) / 86_400_000);
  expect([days(filter.from_ms), days(filter.to_ms)]).toEqual([24, 15]);
  await expect(page.getByText('Ended flows are listed only while')).toBeVisible();
  await page.getByRole('button', { name: /^Remove the filter .* – / }).click();
  await expect(page).not.toHaveURL(/from=/);
});

test('a selection outlasts a path that appears meanwhile', async ({ page }) => {
  let status = { now_ms: 0, paths: { ebpf: { bps: 0 } } };
  await open(page, 'overview', (answers) => {
    status = resultOf(answers, 'fastpath status {}');
  });
  await drag(page, 0.2, 0.5, async () => {
    Object.assign(status, { now_ms: status.now_ms + 1000 });
    status.paths.ebpf.bps = 9e6;
    await expect(chart(page).locator('.legend')).toContainText('eBPF');
  });
  await expect(reset(page)).toBeVisible();
  await keys(page).press('Escape');
  await drag(page, 0.2, 0.5);
  await expect(reset(page)).toBeVisible();
});

test('alerts are filtered by bars selected with mouse and keys', async ({ page }) => {
  await openPast(page, 'protection', 0);
  const bars = page.getByRole('slider', { name: 'Alerts, 24 h' });
  await bars.focus();
  await expect(bars).toHaveAttribute('aria-valuetext', /: \d+ blocked, \d+ allowed$/);
  await page.keyboard.press('ArrowLeft');
  const asked = page.waitForRequest((request) => !!request.postData()?.includes('to_ms'));
  await page.keyboard.press('Enter');
  const { params } = (await asked).postDataJSON() as { params: unknown[] };
  const quarter = Math.floor(at_ms / 900_000) * 900_000;
  expect(params[3]).toMatchObject({ filter: { from_ms: quarter - 900_000, to_ms: quarter } });
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/from=/);
  const box = await bars.boundingBox();
  if (!box) throw new Error('no bars');
  await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 3 });
  await page.mouse.up();
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  const { searchParams } = new URL(page.url().replace('#/', ''));
  const hours = (Number(searchParams.get('to')) - Number(searchParams.get('from'))) / 3_600_000;
  expect(Math.abs(hours - 6)).toBeLessThan(0.6);
});
