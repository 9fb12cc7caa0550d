// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Locator, type Page } from '@playwright/test';
import { fits } from './fit';
import { replay } from './replay';
import { entered, screens, shown } from './screens';

const NARROW = { width: 320, height: 640 };
const WIDE = { width: 1280, height: 800 };

const content: Record<string, readonly (string | RegExp)[]> = {
  overview: [
    ...['Summary', 'Throughput by path', 'Flows by path', 'Protection', 'Top hosts'],
    ...['Internet', 'CPU', 'Health'],
  ],
  devices: [/^All devices/, 'Groups', 'Schedules'],
  device: [
    ...['Device', 'Limits and inspection', 'Traffic', 'Usage', 'Addresses', 'Destinations'],
    ...['Alerts', 'History'],
  ],
  flows: [],
  protection: [
    ...[
      'Inspection',
      'Alerts',
      'Inspected and offloaded',
      'Blocked addresses',
      'What inspection can see',
    ],
    ...['Suricata', 'CPU assignment', 'Queues and CPUs'],
  ],
  policy: ['Inspection policies', /^Inspection$/],
  rules: ['Rule sources', 'Schedule', 'Rule set'],
  topology: ['Interfaces', 'VLAN membership', /^Hosts/],
  health: [
    ...[/findings? needs? attention/, 'Protection', /^PPPoE and path MTU/, /^Path MTU test/],
    ...['Kernel and system', /checks passed/],
  ],
  network: [
    ...['Ports and VLANs of br-lan', 'Television (IPTV)', 'DHCP and IPv6'],
    ...['Reserved addresses', 'Local names'],
  ],
  wan: [
    ...['Connection', 'Latency and loss', 'Settings of wan', 'Internet connections'],
    'Keep latency low',
  ],
  fastpath: [
    ...['Engine', 'Ports', 'Traffic types', 'Keep latency low'],
    ...['Inspection budget', 'Exclusions', 'Conntrack helpers', 'Maintenance'],
  ],
  firewall: ['Zone access', 'Port forwards'],
  cpu: ['Current CPU assignment', 'Change the plan'],
  export: ['Collectors', 'Metrics', 'Notifications', 'phone'],
  system: [
    ...['Firmware', 'Backup', 'Users', 'System log', 'Recent changes', 'Reboot'],
    'Further settings',
  ],
  wizard: ['Password'],
};

/** Panels hidden on a phone; tables have the same content. */
const hiddenPanels: Record<string, readonly string[]> = {
  topology: ['Network map'],
};

const within: Record<string, readonly (readonly ['table' | 'list' | 'img' | 'search', string])[]> =
  {
    overview: [['img', 'Throughput of the last 5 minutes']],
    devices: [
      ['search', 'Search devices'],
      ['table', 'All devices'],
    ],
    device: [
      ['table', 'Destinations'],
      ['list', 'Alerts'],
    ],
    flows: [
      ['search', 'Filters'],
      ['table', 'Flows'],
    ],
    protection: [
      ['list', 'Alerts'],
      ['img', 'Throughput of the last 5 minutes'],
      ['list', 'Blocked addresses'],
    ],
    policy: [['table', 'Inspection policies']],
    rules: [['list', 'Rule sources']],
    topology: [['table', 'VLANs of br-lan']],
    network: [['table', 'Ports and VLANs of br-lan']],
    wan: [['list', 'Connection log']],
    fastpath: [['table', 'Ports']],
    firewall: [['table', 'Zones: sources in rows']],
    export: [['table', 'Collectors']],
    system: [['list', 'System log']],
  };

test.use({ locale: 'en-GB', viewport: NARROW });

async function open(page: Page, screen: string): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  const { awaited } = await replay(page);
  await entered(page);
  await page.goto(`#/${screens[screen] ?? screen}`);
  await shown(page);
  const questions = () => awaited(screen);
  await expect.poll(questions, { intervals: [100], timeout: 15_000 }).toEqual([]);
  await shown(page);
}

async function shownSize(part: Locator, name: string): Promise<{ left: number; right: number }> {
  await expect.soft(part, name).toBeVisible({ timeout: 1000 });
  const box = (await part.isVisible()) ? await part.boundingBox() : null;
  const { x, width, height } = box ?? { x: 0, width: 0, height: 0 };
  expect.soft(width, `width of ${name}`).toBeGreaterThan(200);
  expect.soft(height, `height of ${name}`).toBeGreaterThan(30);
  return { left: x, right: x + width };
}

test('the expected headings cover each screen', () => {
  expect(Object.keys(content)).toEqual(Object.keys(screens));
});

interface Stop {
  name: string;
  seen: boolean;
}

/**
 * Runs in the page: returns the focused element, and whether any point of it is in view and not
 * covered.
 */
function focusStop(): Stop | null {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  if (!focused || focused === document.body) return null;
  const words = focused.getAttribute('aria-label') ?? (focused.textContent || focused.id);
  // A hidden file input has its focus outline on the label.
  const label = focused.closest('label');
  const outlined = label && getComputedStyle(label).outlineStyle !== 'none' ? label : focused;
  const { left, top, width, height } = outlined.getBoundingClientRect();
  const shares = [0.1, 0.5, 0.9];
  const hit = (x: number, y: number) => {
    const there = document.elementFromPoint(left + width * x, top + height * y);
    return there !== null && (focused.contains(there) || there.closest('label')?.contains(focused));
  };
  // Hit tests skip elements without pointer events, such as the chart's slider.
  const { style } = focused as HTMLElement;
  const { pointerEvents } = style;
  style.pointerEvents = 'auto';
  const seen = width > 4 && height > 4 && shares.some((x) => shares.some((y) => hit(x, y)));
  style.pointerEvents = pointerEvents;
  return { name: `${focused.localName} “${words.trim().slice(0, 60)}”`, seen };
}

/** Limit of tab stops per screen. Log lines are not tab stops. */
const MAX_STOPS = 400;

async function eachStopIsSeen(page: Page): Promise<void> {
  const stops: Stop[] = [];
  for (let n = 0; n < MAX_STOPS; n += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(focusStop);
    if (stop === null) break;
    stops.push(stop);
  }
  expect.soft(stops.length, 'stops of the header alone').toBeGreaterThan(4);
  expect.soft(stops.length).toBeLessThan(MAX_STOPS);
  const hidden = stops.filter(({ seen }) => !seen).map(({ name }) => name);
  expect.soft(hidden, 'stops that nobody sees').toEqual([]);
}

for (const [screen, panels] of Object.entries(content)) {
  test(`${screen} is complete, accessible and fits at 320 px`, async ({ page }) => {
    await open(page, screen);
    const main = page.locator('main');
    for (const name of panels) {
      const edges = await shownSize(
        main.getByRole('region', { name, exact: true }),
        `${name} on ${screen}`,
      );
      expect.soft(edges.left, `left edge of ${name}`).toBeGreaterThanOrEqual(0);
      expect.soft(edges.right, `right edge of ${name}`).toBeLessThanOrEqual(NARROW.width);
    }
    // A table wider than its panel scrolls inside it.
    for (const [role, name] of within[screen] ?? []) {
      await shownSize(main.getByRole(role, { name }), `${role} ${name} on ${screen}`);
    }
    const regions = main.getByRole('region');
    await expect(regions, `panels of ${screen} at 320 px`).toHaveCount(panels.length);
    await fits(page, screen, NARROW.width);
    await eachStopIsSeen(page);
    await page.setViewportSize(WIDE);
    const without = hiddenPanels[screen] ?? [];
    for (const name of without)
      await expect(main.getByRole('region', { name, exact: true })).toBeVisible();
    await expect(regions, `${screen} has a panel that is in no list`).toHaveCount(
      panels.length + without.length,
    );
  });
}

for (const width of [320, 900, 1280]) {
  test(`cells of flows match the column headers, ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await open(page, 'flows');
    const table = page.getByRole('table', { name: 'Flows' });
    const places = (role: 'columnheader' | 'cell') =>
      table
        .getByRole('row')
        .nth(role === 'cell' ? 1 : 0)
        .getByRole(role)
        .evaluateAll((all) => all.map((each) => Number(each.getAttribute('aria-colindex'))));
    await expect(table).toHaveAttribute('aria-colcount', '9');
    const heads = await places('columnheader');
    expect(heads.length).toBe({ 320: 6, 900: 8, 1280: 9 }[width]);
    expect(await places('cell')).toEqual(heads);
    expect([...heads].sort((a, b) => a - b)).toEqual(heads);
    expect(heads.every((place) => place >= 1 && place <= 9)).toBe(true);
  });
}

for (const width of [640, 768, 1280]) {
  test(`the state panels of the Overview leave no gap, ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await open(page, 'overview');
    const ends = new Map<number, number>();
    for (const name of ['Internet', 'Protection', 'Health']) {
      const region = page.locator('main').getByRole('region', { name, exact: true });
      const box = await region.boundingBox();
      if (box) ends.set(box.y, box.x + box.width);
    }
    const summary = await page.getByRole('region', { name: 'Summary' }).boundingBox();
    const edge = (summary?.x ?? 0) + (summary?.width ?? 0);
    expect(ends.size, 'rows').toBe({ 640: 2, 768: 2, 1280: 1 }[width]);
    for (const end of ends.values())
      expect(Math.abs(end - edge), 'empty at the end').toBeLessThan(1);
  });
}

test('a visible control sorts flows at 320 px', async ({ page }) => {
  await open(page, 'flows');
  const sort = page.getByRole('combobox', { name: 'Sort' });
  await expect(sort).toBeVisible();
  await sort.selectOption('age_s');
  await expect(page).toHaveURL(/sort=age_s/);
});
