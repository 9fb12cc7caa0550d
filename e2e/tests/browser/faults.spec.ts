// SPDX-License-Identifier: GPL-2.0-or-later
import { banner, entry, expect, live, logIn, open, rowOf, test } from './fixture';
import { hosts } from './lab';

/** Timeout from the return of the link to the new PPPoE session. */
const RECONNECT_MS = 180_000;

test(
  'an unplugged WAN cable is shown, and later the new session',
  { tag: '@fault:cable-pulled' },
  async ({ page, router }) => {
    await open(page, 'overview');
    const wan = page.locator('[data-wan="wan"]');
    await expect(wan).toContainText('Up for');
    await router.cable('wan', 'off');
    await expect(wan).toContainText('No link on wan');
    await expect(page.locator('[data-code="wan-down"]').first()).toContainText('(wan) is down');
    await router.cable('wan', 'on');
    await expect(wan).toContainText('Up for', { timeout: RECONNECT_MS });
    await expect(page.locator('[data-code="wan-down"]')).toHaveCount(0);
  },
);

test(
  'a lost PPPoE session is shown as down until it reconnects',
  { tag: '@fault:session-lost' },
  async ({ page, router, lan }) => {
    await open(page, 'overview');
    const wan = page.locator('[data-wan="wan"]');
    await expect(wan).toContainText('198.51.100.1');
    await router.cutPppoe();
    await expect(wan.getByRole('strong')).toHaveText('Down');
    await expect(wan).not.toContainText('198.51.100.1');
    await expect(wan).toContainText('Up for', { timeout: RECONNECT_MS });
    await expect(wan).toContainText('198.51.100.1');
    await expect(wan).toContainText('PPPoE session');
    await lan.reachesInternet();
    const port = await lan.download(hosts.isp);
    await entry(page, 'Flows').click();
    await expect(rowOf(page, port)).toContainText('Flowtable');
  },
);

test('the topology shows a port without a link', async ({ page, router }) => {
  await open(page, 'topology');
  const lan2 = page.locator('[data-device="lan2"]');
  await expect(lan2).toContainText('up');
  await router.cable('lan2', 'off');
  await expect(lan2).toContainText('no link');
  await router.cable('lan2', 'on');
  await expect(lan2).toContainText('up');
});

test(
  'a stopped daemon is reported, and the page recovers',
  { tag: ['@core', '@fault:daemon-stopped'] },
  async ({ page, router }) => {
    await open(page, 'flows');
    await router.run('/etc/init.d/fastpathd stop');
    const away = banner(page, /No response from fastpathd since \d/);
    await expect(away).toBeVisible();
    await expect(page.locator('[data-connection]')).toHaveText('Daemon not running');
    await router.run('/etc/init.d/fastpathd start');
    await live(page);
    await expect(away).toHaveCount(0);
  },
);

test(
  'a silent router is reported, and the page recovers',
  { tag: '@fault:broker-hung' },
  async ({ page, router, watch }) => {
    watch.expectOutage();
    await open(page, 'overview');
    await router.signal('stop', 'broker');
    const away = banner(page, /No response from the router since \d/);
    try {
      await expect(away).toBeVisible();
      await expect(page.locator('[data-connection]')).toHaveText('Disconnected');
    } finally {
      await router.signal('cont', 'broker');
    }
    await live(page);
    await expect(away).toHaveCount(0);
  },
);

test(
  'a restart of the broker requires a login, but no reload',
  { tag: '@fault:broker-restarted' },
  async ({ page, router, lan, watch }) => {
    watch.expectOutage();
    const port = await lan.download(hosts.h20);
    await open(page, 'flows');
    await expect(rowOf(page, port)).toContainText('Flowtable');
    await page.evaluate(() => Object.assign(window, { notReloaded: true }));
    await router.signal('term', 'broker');
    // The broker stores the web sessions, so its restart ends them.
    await expect(page.getByText('Your session has expired. Log in to continue')).toBeVisible();
    await logIn(page);
    await live(page);
    await expect(rowOf(page, port)).toContainText('Flowtable');
    expect(await page.evaluate(() => 'notReloaded' in window)).toBe(true);
  },
);
