// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { apply, CHANGE_MS, openReview, openSetup, waitConfirmed } from './change';
import { core, expect, test } from './fixture';
import { hosts } from './lab';

/** Timeout of a doctor run on an emulated machine. */
const DOCTOR_MS = 180_000;

const TIMEOUT = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established';
const finding = (page: Page, id: string) => page.locator(`details[data-finding="${id}"]`);
const fix = (page: Page, id: string) => page.locator(`[data-fix="${id}"]`);

/** Starts a new run; the screen opens with the last report. */
const runChecks = (page: Page) => page.getByRole('button', { name: 'Run checks again' }).click();

test('a confirmed fix of the doctor removes its finding', async ({ page, router }) => {
  await router.run(`echo 432000 >${TIMEOUT}`);
  await openSetup(page, 'health');
  await runChecks(page);
  await expect(finding(page, 'conntrack-timeout')).toBeVisible({ timeout: DOCTOR_MS });
  await expect(page.locator('[data-verdict]')).not.toHaveAttribute('data-verdict', 'ok');
  const timeout = finding(page, 'conntrack-timeout');
  if (!(await fix(page, 'conntrack-timeout').isVisible())) await timeout.locator('summary').click();
  await expect(timeout.getByRole('table')).toContainText('432000');
  await fix(page, 'conntrack-timeout').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toBeVisible();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await router.run(`cat ${TIMEOUT}`)).toContain('432000');
  await fix(page, 'conntrack-timeout').click();
  await dialog.getByRole('button').last().click();
  await expect(page.getByRole('status').filter({ hasText: 'Done.' })).toBeVisible();
  await expect(timeout).toHaveCount(0, { timeout: DOCTOR_MS });
  // Names show in a failure which finding an earlier test has left.
  const left = page.locator(
    ['advice', 'warning', 'error'].map((of) => `[data-severity="${of}"]`).join(', '),
  );
  await expect
    .poll(() => left.evaluateAll((all) => all.map((each) => each.getAttribute('data-finding'))))
    .toEqual([]);
  await expect(page.locator('[data-verdict]')).toHaveAttribute('data-verdict', 'ok');
  expect(await router.run(`cat ${TIMEOUT}`)).not.toContain('432000');
});

test(
  'a remedy in the configuration is shown, applied and confirmed',
  core,
  async ({ page, router }) => {
    await router.run('sed -i /mtu_fix/d /etc/config/firewall; /etc/init.d/firewall reload');
    await openSetup(page, 'health');
    await runChecks(page);
    await expect(finding(page, 'pppoe-mss')).toBeVisible({ timeout: DOCTOR_MS });
    await fix(page, 'pppoe-mss').click();
    expect((await openReview(page)).join('\n')).toContain('mtu_fix');
    await apply(page);
    await waitConfirmed(page);
    await expect(finding(page, 'pppoe-mss')).toHaveCount(0, { timeout: CHANGE_MS });
    await router.run('grep -q "option mtu_fix .1." /etc/config/firewall');
  },
);

test('the path MTU is probed on demand', async ({ page }) => {
  await openSetup(page, 'health');
  const host = page.getByLabel('Host (IPv4 address)');
  await expect(host).toBeVisible({ timeout: DOCTOR_MS });
  await host.fill('not an address');
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await expect(page.getByText('“not an address” is not a valid IPv4 host address')).toBeVisible();
  await host.fill(hosts.isp);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  const whole = page.getByText(/: 1,492 bytes reach/);
  await expect(whole).toBeVisible({ timeout: DOCTOR_MS });
});
