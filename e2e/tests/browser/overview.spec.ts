// SPDX-License-Identifier: GPL-2.0-or-later
import { core, expect, open, test } from './fixture';
import { hosts } from './lab';

test('the overview shows the WAN and the paths of traffic', core, async ({ page, lan, router }) => {
  await lan.download(hosts.isp, '2M');
  await lan.download(hosts.h20, '2M');
  await open(page, 'overview');
  const wan = page.locator('[data-wan="wan"]');
  await expect(wan).toContainText('wan · pppoe');
  await expect(wan).toContainText('pppoe-wan over wan');
  await expect(wan).toContainText('198.51.100.1');
  await expect(wan.getByText('35', { exact: true })).toBeVisible();
  // After ten seconds of bulk transfers, nearly all bytes are offloaded.
  await expect
    .poll(async () =>
      parseFloat((await page.locator('[data-figure="offload"]').textContent()) ?? ''),
    )
    .toBeGreaterThan(95);
  await expect(page.locator('[data-path="flowtable"]')).toContainText('Mbit/s');
  const top = page.getByRole('row').filter({ hasText: 'h10' });
  await expect(top.first()).toContainText('Mbit/s');
  await expect(page.getByText(/CPU 0/)).toBeVisible();
  const cores = Number(await router.run('grep -c ^processor /proc/cpuinfo'));
  await expect(page.getByText(/% busy, .*% of it softirq/)).toHaveCount(cores);
  await page.getByRole('button', { name: 'Show as table' }).click();
  await expect(page.getByRole('button', { name: 'Show as chart' })).toBeVisible();
});

test('a path links to its flows', async ({ page, lan }) => {
  await lan.download(hosts.isp);
  await open(page, 'overview');
  await page.locator('[data-path="flowtable"]').getByRole('link').click();
  await expect(page).toHaveURL(/\/flows\?path=flowtable/);
  await expect(page.getByRole('button', { name: /^Flowtable/ })).toHaveAttribute(
    'aria-pressed',
    'true',
  );
});
