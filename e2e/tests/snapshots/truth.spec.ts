// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, shown } from './screens';

interface Status {
  now_ms: number;
  local_flows: number;
  ended_flows: number;
  ips: { rules_ms: number; alerts: number };
  engine: {
    wanted: string;
    active: string;
    why: string;
    cause: { code: string };
    hardware_ports: object | null;
    hardware_unused: boolean;
    hardware_full: number | null;
    hardware_counts: boolean | null;
  };
}

const DAY_MS = 24 * 3600 * 1000;

async function open(
  page: Page,
  screen: string,
  change: (status: Status) => void = () => undefined,
): Promise<void> {
  await replay(page, (answers) => {
    const { result } = answers['fastpath status {}'] as { result: [number, Status] };
    change(result[1]);
  });
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
}

test.use({ locale: 'en-GB' });

const rows = (page: Page) => page.getByRole('table', { name: 'Flows' }).locator('[data-index]');

test('local flows are hidden in Flows until requested', async ({ page }) => {
  await open(page, 'flows');
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByText('1 flow', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Show 5 local flows' }).click();
  await expect(page).toHaveURL(/local=1/);
  await expect(rows(page)).toHaveCount(9);
  await expect(rows(page).filter({ hasText: 'Local' }).filter({ hasText: 'mgmt' })).toHaveCount(8);
  await page.getByRole('button', { name: 'Hide local flows' }).click();
  await expect(rows(page)).toHaveCount(1);
});

test('local flows have their own row on Overview', async ({ page }) => {
  await open(page, 'overview');
  const panel = page.getByRole('region', { name: 'Flows by path' });
  await expect(panel.getByRole('row', { name: /^Local 5 not forwarded/ })).toBeVisible();
  // The bar shows forwarded flows only, all of which are on the flowtable.
  await expect(panel.locator('.meter span')).toHaveCount(1);
  await expect(panel.locator('.meter .path-flowtable')).toHaveCount(1);
  await panel.getByRole('link', { name: 'Local' }).click();
  await expect(page).toHaveURL(/flows\?local=1/);
});

test('ended flows are not counted for a path, and are shown on request', async ({ page }) => {
  const ended = (status: Status) => (status.ended_flows = 30);
  await open(page, 'overview', ended);
  const panel = page.getByRole('region', { name: 'Flows by path' });
  await expect(panel.getByRole('row', { name: /^Ended 30 over/ })).toBeVisible();
  await expect(panel.locator('.meter span')).toHaveCount(1);
  await expect(panel.getByRole('row', { name: /^Slow path 0/ })).toBeVisible();
  await panel.getByRole('link', { name: 'Ended' }).click();
  await expect(page).toHaveURL(/flows\?path=ended/);
  await expect(page.getByText('Ended ×')).toBeVisible();
  await page.goto('#/flows');
  await page.getByRole('button', { name: 'Show 30 ended flows' }).click();
  await expect(page).toHaveURL(/ended=1/);
  await page.getByRole('button', { name: 'Hide ended flows' }).click();
  await expect(page).not.toHaveURL(/ended=1/);
});

for (const screen of ['overview', 'protection']) {
  const state = (page: Page) => page.locator('[data-ips]');
  const colour = (page: Page) => state(page).evaluate((tag) => getComputedStyle(tag).color);

  test(`${screen}: built-in test rules are not shown as protection`, async ({ page }) => {
    await open(page, screen);
    await expect(state(page)).toHaveText(/Inline · test rules only/);
    const amber = await colour(page);
    await page.getByRole('link', { name: 'Add a rule source' }).click();
    await expect(page.getByRole('region', { name: 'Rule sources' })).toBeVisible();
    await page.goBack();
    await expect(state(page)).toHaveCSS('color', amber);
  });

  test(`${screen}: only a recent rule set is shown as protection`, async ({ page, context }) => {
    await open(page, screen, (status) => (status.ips.rules_ms = status.now_ms - DAY_MS));
    await expect(state(page)).toHaveText(/Protecting · inline/);
    const green = await colour(page);
    const later = await context.newPage();
    await open(later, screen, (status) => (status.ips.rules_ms = status.now_ms - 8 * DAY_MS));
    await expect(state(later)).toHaveText(/Inline · old rules/);
    await expect(later.getByText('The rule sources were last reached 8 days ago.')).toBeVisible();
    await expect(later.getByRole('link', { name: 'Rule sources' }).first()).toBeVisible();
    expect(await colour(later)).not.toBe(green);
  });
}

for (const [screen, panels] of [
  ['protection', 4],
  ['flows', 2],
  ['topology', 1],
] as const) {
  test(`${screen}: a stopped daemon’s unread values are unknown`, async ({ page }) => {
    let answers: Record<string, unknown> = {};
    await replay(page, (all) => (answers = all));
    await entered(page);
    await page.goto('#/health');
    await shown(page);
    for (const key of Object.keys(answers).filter((each) => /^fastpath \w+ /.test(each))) {
      answers[key] = { result: [7] };
    }
    await expect(page.getByText(/^As of \d\d:\d\d:\d\d$/)).toBeVisible();
    await page.goto(`#/${screen}`);
    await expect(page.getByText('Not known: fastpathd does not respond.')).toHaveCount(panels);
    await expect(page.getByText(/^Loading/)).toHaveCount(0);
  });
}

test('an engine that waits for the configuration is shown as starting', async ({ page }) => {
  await open(page, 'overview', ({ engine }) => {
    engine.active = engine.wanted = 'off';
    engine.why = 'waiting for the configuration';
    engine.cause.code = 'waiting';
  });
  await expect(page.locator('[data-engine=starting]')).toContainText('Starting');
  await expect(page.getByRole('button', { name: 'Off', pressed: true })).toHaveCount(0);
  await expect(page.getByText('waiting for the configuration')).toHaveCount(0);
});

for (const [text, hardware] of [
  ['no flow is in hardware', { hardware_unused: true }],
  ['table full with 1024 flows', { hardware_full: 1024 }],
  ['its bytes are not counted', { hardware_counts: false }],
] as const) {
  test(`hardware offload shows how many ports support it, and ${text}`, async ({ page }) => {
    await open(page, 'overview', ({ engine }) => {
      engine.active = engine.wanted = 'flowtable-hw';
      engine.hardware_ports = { able: ['lan1'], present: 3 };
      const none = { hardware_unused: false, hardware_full: null, hardware_counts: null };
      Object.assign(engine, none, hardware);
    });
    await expect(page.locator('[data-hardware]')).toHaveText(
      `1 of 3 ports support hardware offload · ${text}`,
    );
  });
}

test('the title shows new alerts and a pending change', async ({ page }) => {
  let answers: Record<string, unknown> = {};
  await replay(page, (all) => (answers = all));
  const { result } = answers['fastpath status {}'] as { result: [number, Status] };
  await entered(page);
  await page.goto('#/overview');
  await shown(page);
  await expect(page).toHaveTitle('2 health findings · Overview · gateway · fastpath');
  result[1].ips.alerts += 3;
  await expect(page).toHaveTitle(
    '2 health findings · 3 new alerts · Overview · gateway · fastpath',
  );
  await page.goto('#/protection');
  await expect(page).toHaveTitle('2 health findings · Protection · gateway · fastpath');
  result[1].ips.alerts += 1;
  await page.goto('#/flows');
  await expect(page).toHaveTitle('2 health findings · Flows · gateway · fastpath');
  const { now_ms } = result[1];
  const pending = { id: 8, at_ms: now_ms, user: 'root', note: '', seconds: 90, left_s: 80 };
  answers['fastpath.change pending {}'] = { result: [0, { pending, last: null }] };
  await page.reload();
  await expect(page).toHaveTitle('2 health findings · Change pending · Flows · gateway · fastpath');
});

test('areas of the chart differ without colour', async ({ page }) => {
  // Records each fill pattern as the set of pixels that differ from its most frequent colour.
  await page.addInitScript(() => {
    const tiles: string[] = [];
    Object.assign(globalThis, { tiles });
    const { createPattern } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.createPattern = function (tile, repetition) {
      if (tile instanceof HTMLCanvasElement) {
        const pixels = tile.getContext('2d')?.getImageData(0, 0, tile.width, tile.height).data;
        const colours = Array.from({ length: tile.width * tile.height }, (_, i) =>
          (pixels ?? []).slice(4 * i, 4 * i + 4).join(),
        );
        const number = (colour: string) => colours.filter((each) => each === colour).length;
        const ground = [...new Set(colours)].sort((a, b) => number(b) - number(a))[0];
        tiles.push(colours.map((each) => (each === ground ? ' ' : '#')).join(''));
      }
      return createPattern.call(this, tile, repetition);
    };
  });
  await open(page, 'overview');
  const legend = page
    .getByRole('region', { name: 'Throughput by path' })
    .locator('.legend pattern');
  const tiles = () => page.evaluate(() => (globalThis as unknown as { tiles: string[] }).tiles);
  await expect
    .poll(async () => {
      const drawn = await tiles();
      return [drawn.length, new Set(drawn).size, await legend.count()];
    })
    .toEqual([3, 3, 3]);
});

for (const [screen, drawing] of [
  ['overview', 'figure canvas'],
  ['topology', '.drawing svg text'],
] as const) {
  test(`labels of the drawing on ${screen} grow with the browser’s font size`, async ({ page }) => {
    const height = () =>
      page
        .locator(drawing)
        .first()
        .evaluate((each) =>
          each instanceof HTMLCanvasElement
            ? parseFloat(each.getContext('2d')?.font ?? '')
            : each.getBoundingClientRect().height,
        );
    await open(page, screen);
    const before = await height();
    await page.addInitScript(() => {
      addEventListener('DOMContentLoaded', () => {
        document.documentElement.style.fontSize = '24px';
      });
    });
    await page.reload();
    await shown(page);
    await expect.poll(height).toBeGreaterThan(1.3 * before);
  });
}
