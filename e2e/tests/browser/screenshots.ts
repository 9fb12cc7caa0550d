// SPDX-License-Identifier: GPL-2.0-or-later
import { fileURLToPath } from 'node:url';
import { expect, open, rowOf, test } from './fixture';
import { hosts, type Lan, type Router } from './lab';

const docs = (name: string) => fileURLToPath(new URL(`../../../docs/${name}.png`, import.meta.url));

const HISTORY_S = 80;

const POLICIES = `	option block '1'
	option block_time '900'

config policy
	option name 'cameras'
	option src 'iot'
	option dest 'wan'
	option action 'always'

config policy
	option name 'backup'
	option src 'lan'
	option dest_vlan '20'
	option action 'none'
	option enabled '0'`;

test('takes the pictures of Health and Network', async ({ page, router }) => {
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await router.run('ethtool -K lan2 gro off');
  try {
    await open(page, 'health');
    await page.getByRole('button', { name: 'Run checks again' }).click();
    const finding = page.locator('details[data-finding="gro-off"]');
    await expect(finding).toBeVisible();
    await page.screenshot({ path: docs('health'), animations: 'disabled' });
  } finally {
    await router.run('ethtool -K lan2 gro on');
  }
  await page.goto('#/network');
  await expect(page.getByRole('table').first()).toBeVisible();
  await page.screenshot({ path: docs('network'), animations: 'disabled' });
});

/** Starts typical household traffic; returns the source port of the first download. */
async function startTraffic(lan: Lan, router: Router): Promise<number> {
  const first = await lan.download(hosts.isp, '900k');
  await lan.download(hosts.h20, '400k');
  const curl = 'exec curl -gsS -o /dev/null --limit-rate';
  await lan.begin('h11', 'h11', `${curl} 300k http://[2001:db8:ffff::1]/256.bin`);
  await lan.begin('h20', 'h20', `${curl} 150k http://${hosts.isp}/256.bin`);
  await lan.begin('h11', 'dns', `exec /tmp/e2e/talk ${hosts.isp}`);
  await lan.begin('h10', 'ping', `exec ping -i 1 ${hosts.h20}`);
  const age = async () => {
    const page = (await router.ask(`flows --text ${first}`)) as {
      cols: string[];
      rows: number[][];
    };
    return page.rows[0]?.[page.cols.indexOf('age_s')] ?? 0;
  };
  await expect.poll(age, { timeout: 2 * HISTORY_S * 1000 }).toBeGreaterThan(HISTORY_S);
  return first;
}

test('takes the other pictures of the documentation', async ({ page, lan, router }) => {
  await page.setViewportSize({ width: 1280, height: 1120 });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await router.inspectInline(POLICIES);
  const port = await startTraffic(lan, router);
  await open(page, 'overview');
  await expect(page.locator('[data-figure="offload"]')).toContainText('9');
  await expect(
    page.getByRole('region', { name: 'Throughput by path' }).locator('figure[aria-busy=false]'),
  ).toBeVisible();
  const busy = page.getByRole('region', { name: 'Top hosts' }).getByRole('row');
  await expect.poll(() => busy.count()).toBeGreaterThan(2);
  await page.screenshot({ path: docs('overview'), animations: 'disabled' });
  await page.goto('#/topology');
  await page.setViewportSize({ width: 1280, height: 860 });
  await expect(page.locator('[data-device="lan1"]')).toContainText('In the flowtable');
  await page.screenshot({ path: docs('topology'), animations: 'disabled' });
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await page.goto('#/flows?text=10.10');
  await rowOf(page, port).getByRole('button').click();
  await expect(page.getByRole('list', { name: 'History' })).toContainText('Flowtable');
  await page.mouse.move(0, 0);
  await page.screenshot({ path: docs('flows'), animations: 'disabled' });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await lan.badPage(hosts.h20);
  await lan.badPage();
  await page.goto('#/protection');
  await expect(page.locator('[data-block]')).toHaveCount(2);
  await expect(page.getByRole('list', { name: 'Alerts' }).getByRole('button')).not.toHaveCount(0);
  await page.setViewportSize({ width: 1280, height: 1120 });
  // The page shows a late answer as unavailable until the next one arrives.
  await expect(page.getByText('Unavailable:')).toHaveCount(0);
  await page.screenshot({ path: docs('protection'), animations: 'disabled' });
  await page.goto('#/protection?part=policy');
  await expect(page.getByRole('row', { name: '1. cameras' })).toBeVisible();
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.screenshot({ path: docs('policy'), animations: 'disabled' });
});
