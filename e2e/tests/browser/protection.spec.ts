// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { violations } from './axe';
import { core, entry, expect, live, note, open, rowOf, test } from './fixture';
import { hosts, type Lan, type Router } from './lab';

interface Alert {
  at_ms: number;
}

/** Maximum delay from the match of a rule to the alert on the page. */
const SHOWN_MS = 2000;
/** Signature id of fastpath's own rule that matches `id.txt`. */
const SID = '8100001';

const alerts = (page: Page) => page.getByRole('list', { name: 'Alerts' });
const newest = (page: Page) => alerts(page).getByRole('listitem').first();
const state = (page: Page) => page.locator('[data-ips]');
const block = (page: Page, address: string) => page.locator(`[data-block="${address}"]`);

async function alertCount(page: Page): Promise<number> {
  await expect(page.getByRole('region', { name: 'Alerts' })).toContainText('since daemon start');
  return alerts(page).getByRole('button').count();
}

/** Id of the newest listed alert; the daemon's ids increase. */
async function newestId(page: Page): Promise<number> {
  if ((await alertCount(page)) === 0) return 0;
  return Number(await newest(page).getAttribute('data-alert'));
}

async function alertDelay(page: Page, router: Router, lan: Lan): Promise<number> {
  const before = await newestId(page);
  await lan.badPage();
  // Polls faster than the default of 1 s. Compares ids, because the list is limited to 100 rows.
  await expect.poll(() => newestId(page), { intervals: [50] }).toBeGreaterThan(before);
  const shown = Date.now();
  const { alerts: newest } = (await router.ask('alerts --limit 1')) as { alerts: Alert[] };
  return shown + (await router.clockOffset()) - (newest[0]?.at_ms ?? NaN);
}

test.use({ inspected: true });

const timed = { tag: '@timed' };
const blocked = 'a blocked answer is shown within two seconds, never arrives, links to its flow';

test(blocked, timed, async ({ page, router, lan }) => {
  await router.inspectInline();
  await open(page, 'protection');
  await expect(state(page)).toHaveText(/Inline · test rules only/);
  const before = await alertCount(page);
  const shown_ms = await alertDelay(page, router, lan);
  note(`shown after ${shown_ms} ms`);
  expect(shown_ms).toBeLessThan(SHOWN_MS);
  await expect(newest(page)).toContainText('Blocked');
  await newest(page).getByRole('button').click();
  const detail = page.getByRole('complementary', { name: 'Alert' });
  await expect(detail).toContainText('The packet was dropped.');
  await expect(detail).toContainText(SID);
  await expect(detail).toContainText(`${hosts.isp}:80`);
  await expect(detail.locator('[data-fact="target"]')).toContainText('id.txt');
  expect(await lan.badBytes()).toBe('0 0');
  await page.keyboard.press('Escape');
  await expect(detail).toHaveCount(0);
  await expect(newest(page).getByRole('button')).toBeFocused();
  await lan.badPage();
  await page.getByRole('button', { name: 'Show 1 new alert' }).click();
  await expect(alerts(page).getByRole('button')).toHaveCount(before + 2);
  await newest(page).getByRole('button').click();
  await page.getByRole('link', { name: 'Show its flow' }).click();
  const flow = page.getByRole('complementary', { name: /^Flow/ });
  await expect(flow).toContainText(`${hosts.h10}:`);
  const fired = flow.getByRole('list', { name: 'Alerts' });
  await expect(fired).toContainText('Blocked');
  await fired.getByRole('link').first().click();
  await expect(page).toHaveURL(/\/protection\?.*flow=\d+/);
  await expect(page.getByRole('complementary', { name: 'Alert' })).toContainText(SID);
  await page.getByRole('button', { name: /^Remove the filter Flow/ }).click();
  await expect(page).not.toHaveURL(/flow=/);
});

test('text from the network is shown, filtered and never interpreted', async ({ page, router }) => {
  await router.inspectInline();
  page.on('dialog', (dialog) => {
    throw new Error(`the page asked: ${dialog.message()}`);
  });
  await open(page, 'protection');
  const hay = `hay${Date.now()}`;
  await router.event(alert({ signature: `needle in the ${hay}`, action: 'allowed', severity: 3 }));
  await router.event(alert({ signature: `only ${hay}`, action: 'blocked', severity: 1 }));
  const search = page.getByRole('searchbox', { name: 'Filter alerts' });
  await search.fill(hay);
  await expect(alerts(page).getByRole('button')).toHaveCount(2);
  await search.fill(`NEEDLE in the ${hay}`);
  await expect(alerts(page).getByRole('button')).toHaveCount(1);
  await expect(newest(page)).toContainText('Allowed');
  await search.fill(hay);
  const actions = page.getByRole('group', { name: 'Action' });
  await actions.getByRole('button', { name: 'Blocked' }).click();
  await expect(alerts(page).getByRole('button')).toHaveCount(1);
  await expect(newest(page)).toContainText(`only ${hay}`);
  await actions.getByRole('button', { name: 'Blocked' }).click();
  await page.getByRole('combobox', { name: 'Severity' }).selectOption('1');
  await expect(alerts(page).getByRole('button')).toHaveCount(1);
  await expect(page).toHaveURL(/severity=1/);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  const long = 'A'.repeat(2048);
  const signature = `<img src=x onerror=alert(1)> {n} \u202Egpj.exe ${long}`;
  await router.event(
    alert({
      signature,
      category: '<b>bold</b>',
      http: { hostname: '"><script>', url: `/\u2066${long}` },
    }),
  );
  await expect(newest(page)).toContainText('<img src=x onerror=alert(1)> {n}');
  await expect(newest(page)).toContainText('U+202E');
  await newest(page).getByRole('button').click();
  const detail = page.getByRole('complementary', { name: 'Alert' });
  await expect(detail).toContainText('<b>bold</b>');
  await expect(detail).toContainText('A'.repeat(180));
  const target = detail.locator('[data-fact="target"]');
  await expect(target).toContainText('"><script>/U+2066');
  const shown = async () => (await target.locator('bdi').innerText()).length;
  const cut = await shown();
  await target.getByRole('button', { name: /^Show all \d+ characters/ }).click();
  await expect(target.getByRole('button')).toHaveAttribute('aria-expanded', 'true');
  expect(await shown()).toBeGreaterThan(cut);
  await expect(page.locator('main img, main script, main b')).toHaveCount(0);
  expect(await detail.innerText()).not.toContain('\u202E');
  expect(await violations(page)).toEqual([]);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(1280);
});

test(
  'a blocked address is listed, counts down and is released manually',
  timed,
  async ({ page, router, lan, lab }) => {
    await router.inspectInline("\toption block '1'\n\toption block_time '300'");
    await open(page, 'protection');
    await expect(page.getByRole('region', { name: 'Blocked addresses' })).toContainText(
      'for 5 min',
    );
    await lan.badPage();
    const row = block(page, hosts.isp);
    // The page polls every 10 s, and at once when the count in the status changes.
    await expect(row).toContainText(/4:\d\d/, { timeout: 5000 });
    // Position of the button relative to its row, because an alert may move the row.
    const place = () =>
      row.evaluate((outer) => {
        const [all, button] = [outer, outer.querySelector('button')].map((each) =>
          each?.getBoundingClientRect(),
        );
        if (!all || !button) return null;
        return [button.x - all.x, button.y - all.y, all.width, all.height].map(Math.round);
      });
    const before = await place();
    expect(before).not.toBeNull();
    const left = await row.locator('.left').innerText();
    await expect(row.locator('.left')).not.toHaveText(left);
    expect(await place()).toEqual(before);
    await row.getByRole('button', { name: `Unblock ${hosts.isp}` }).click();
    const dialog = page.getByRole('dialog', { name: `Unblock ${hosts.isp}?` });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect(row).toBeVisible();
    await row.getByRole('button').click();
    await dialog.getByRole('button', { name: 'Unblock' }).click();
    await expect(page.getByText(`${hosts.isp} is unblocked.`)).toBeVisible();
    await expect(row).toHaveCount(0);
    expect(await router.ask('blocks')).toMatchObject({ blocks: [] });
    await lab.verb('soon', '5', 'h10', 'ping', '-c', '1', '-W', '1', hosts.isp);
    await lan.badBytes();
    await lan.badPage();
    await expect(row).toBeVisible();
    await router.run(`fastpathctl release ${hosts.isp}`);
    await expect(row).toHaveCount(0);
  },
);

test(
  'the page reports that Suricata stopped, and that it runs again',
  core,
  async ({ page, lab, router }) => {
    await router.inspectInline();
    await open(page, 'protection');
    await expect(state(page)).toHaveText(/Inline · test rules only/);
    await lab.verb('hold_suricata');
    await lab.verb('kill_suricata');
    await expect(state(page)).toHaveText(/Down · fail-open/);
    await expect(page.getByText('Connections pass uninspected and are counted')).toBeVisible();
    await entry(page, 'Overview').click();
    await expect(page.getByRole('region', { name: 'Protection' })).toContainText(
      'Down · fail-open',
    );
    await lab.verb('release_suricata');
    await expect(state(page)).toHaveText(/Inline · test rules only/);
  },
);

test('bypassed connections return to inspection on request', async ({ page, router, lan }) => {
  await router.inspectInline();
  const port = await lan.download(hosts.isp, '200k');
  await open(page, 'flows');
  await expect(rowOf(page, port)).toContainText('Flowtable');
  await entry(page, 'Protection').click();
  await page.getByRole('button', { name: 'Inspect all connections again' }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: 'Inspect all connections again' })
    .click();
  await expect(page.getByText(/^\d+ connections? returned to inspection\.$/)).toBeVisible();
  await entry(page, 'Flows').click();
  await rowOf(page, port).getByRole('button').click();
  const life = page.getByRole('list', { name: 'History' });
  await expect(life).toContainText(/Flowtable[\s\S]*Inspect/);
});

test('a viewer sees all panels and no controls', async ({ page, router, lan }) => {
  await router.inspectInline(
    "\toption block '1'\n\nconfig policy\n\toption name 'iot'\n\toption src 'iot'",
  );
  await open(page, 'protection', 'viewer');
  await expect(state(page)).toHaveText(/Inline · test rules only/);
  await alertDelay(page, router, lan);
  await expect(block(page, hosts.isp)).toBeVisible();
  const writing = /Unblock|Re-inspect|Update now|Review|Add|Remove|Move/;
  const parts = {
    Status: 'Alerts',
    Policies: 'Inspection policies',
    Rules: 'Rule sources',
  };
  for (const [part, region] of Object.entries(parts)) {
    await page.getByRole('link', { name: part, exact: true }).click();
    await expect(page.getByRole('region', { name: region })).toBeVisible();
    await expect(page.getByRole('button', { name: writing })).toHaveCount(0);
    if (part === 'Status') continue;
    await expect(page.locator('main :is(input, select, textarea)')).toHaveCount(0);
  }
  await page.getByRole('link', { name: 'Policies', exact: true }).click();
  await expect(page.getByRole('row', { name: /^iot/ })).toContainText('Inspect');
  await live(page);
});

interface Fired {
  signature: string;
  category?: string;
  action?: 'allowed' | 'blocked';
  severity?: number;
  http?: object;
}

function alert({ signature, category = 'Test', action, severity = 2, http }: Fired): object {
  return {
    timestamp: new Date().toISOString().replace('Z', '000+0000'),
    event_type: 'alert',
    src_ip: hosts.isp,
    src_port: 80,
    dest_ip: hosts.h10,
    dest_port: 40000,
    proto: 'TCP',
    app_proto: 'http',
    direction: 'to_client',
    alert: {
      action: action ?? 'allowed',
      gid: 1,
      signature_id: 9999,
      rev: 1,
      signature,
      category,
      severity,
    },
    ...(http ? { http } : {}),
  };
}
