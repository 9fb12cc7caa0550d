// SPDX-License-Identifier: GPL-2.0-or-later
import { apply, CHANGE_MS, openReview, openSetup, waitConfirmed } from './change';
import { expect, rowOf, test } from './fixture';
import { hosts } from './lab';

const LIMIT_MS = 180_000;

const timed = { tag: '@timed' };

test('the wizard sets up a healthy gateway', timed, async ({ page, router, lan, lab }) => {
  const begun = Date.now();
  const next = () => page.getByRole('button', { name: 'Next' }).click();
  await openSetup(page, 'wizard');
  await page.getByLabel('New password').fill('fastpath');
  await page.getByLabel('Confirm password').fill('fastpath');
  await next();
  await expect(page.getByLabel('Protocol')).toHaveValue('pppoe');
  await page.getByLabel('User name').fill('subscriber');
  await page.getByLabel('Password', { exact: true }).fill('line');
  await next();
  await page.getByLabel('Guest network').check();
  await page.getByLabel('Guest port').selectOption('lan3');
  await next();
  await page.getByLabel('Inspect new connections inline').check();
  await next();
  const lines = (await openReview(page)).join('\n');
  expect(lines).toContain('lan3:u*');
  await apply(page);
  await waitConfirmed(page);

  await lab.verb('h30_port', 'untagged');
  await lab.verb('wait_for', '40', 'h30', 'ping -c 1 -W 1 203.0.113.1');
  await expect(router.run('nft list table inet fw4')).resolves.toContain('guest');
  await lab.verb('h30', '! ping -c 1 -W 1 10.10.10.10');

  await lab.verb('soon', '110', 'ips_is', 'inline');
  await page.goto('#/flows');
  // Keeps the pointer away, because the flow table updates no rows under it.
  await page.mouse.move(0, 0);
  const port = await lan.download(hosts.isp, '100k');
  const row = rowOf(page, port);
  await expect(row).toContainText('Flowtable', { timeout: CHANGE_MS });
  await row.getByRole('button').click();
  const life = page.getByRole('list', { name: 'History' }).getByRole('listitem');
  await expect(life.filter({ hasText: 'Inspect' })).not.toHaveCount(0);
  await expect(life.last()).toContainText('Flowtable');

  await page.goto('#/health');
  await expect(page.locator('[data-verdict]')).toBeVisible({ timeout: CHANGE_MS });
  expect(Date.now() - begun).toBeLessThan(LIMIT_MS);
});
