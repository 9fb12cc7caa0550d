// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { applyDraft, CHANGE_MS, review } from './change';
import { entry, expect, open, test } from './fixture';
import { hosts, type Router } from './lab';

const row = (page: Page, name: string) => page.locator(`tr[data-collector="${name}"]`);
const form = (page: Page, name: string) =>
  page.getByRole('region', { name: `Settings of ${name}` });
const field = (page: Page, name: string, label: string) =>
  form(page, name).getByLabel(label, { exact: true });

interface Exports {
  exports: { name: string; host: string; port: number; state: string; sent: number }[];
}

const exportsOf = async (router: Router) => ((await router.ask('exports')) as Exports).exports;

const configured = (router: Router) => router.run('cat /etc/config/fastpath');
const RELOAD = '/etc/init.d/fastpathd reload';

const addStore = (router: Router, more = '') =>
  router.run(
    `printf "\nconfig export 'store'\n\toption host '${hosts.h10}'\n${more}" ` +
      `>>/etc/config/fastpath; ${RELOAD}`,
  );

test('a collector is added, changed, disabled and removed', async ({ page, router, lan }) => {
  await lan.begin('h10', 'collector', 'exec socat -u UDP-RECV:4739 CREATE:/dev/null');
  await open(page, 'export');
  await page.getByRole('button', { name: 'Add collector' }).click();
  await field(page, 'collector', 'Name').fill('store');
  await field(page, 'store', 'Collector address').fill(hosts.h10);
  await form(page, 'store').getByText('Advanced').click();
  await field(page, 'store', 'Active timeout, seconds').fill('5');
  await field(page, 'store', 'Idle timeout, seconds').fill('3');
  const lines = (await applyDraft(page)).join('\n');
  expect(lines).toContain('store.host');
  const written = await configured(router);
  for (const option of ["name 'store'", `host '${hosts.h10}'`, "active_timeout '5'"])
    expect(written).toContain(`option ${option}`);
  expect(written).not.toContain('option port');
  expect(await exportsOf(router)).toMatchObject([{ name: 'store', host: hosts.h10, port: 4739 }]);
  await expect(row(page, 'store').locator('[data-state=up]')).toBeVisible({ timeout: CHANGE_MS });
  await lan.download(hosts.h20);
  await expect(row(page, 'store').locator('.sent')).toHaveText(/[1-9]/, { timeout: CHANGE_MS });
  expect((await exportsOf(router))[0]?.sent).toBeGreaterThan(0);

  const place = `/option host '${hosts.h10}'/`;
  await router.run(`sed -i "${place}a\\\\\toption port '4740'" /etc/config/fastpath; ${RELOAD}`);
  await expect
    .poll(async () => (await exportsOf(router))[0]?.port, { timeout: CHANGE_MS })
    .toBe(4740);
  await expect(row(page, 'store').locator('[data-state=down]')).toContainText(
    'nothing listens on the collector’s port',
    { timeout: CHANGE_MS },
  );
  await entry(page, 'CPU').click();
  await entry(page, 'Export').click();
  await expect(row(page, 'store')).toContainText(`${hosts.h10}:4740`);

  await page.getByRole('button', { name: 'Edit store' }).click();
  await form(page, 'store').getByLabel('Enabled').uncheck();
  await applyDraft(page);
  await expect(row(page, 'store').locator('[data-state=off]')).toBeVisible({ timeout: CHANGE_MS });
  expect(await exportsOf(router)).toMatchObject([{ name: 'store', state: 'off' }]);

  await page.getByRole('button', { name: 'Remove store' }).click();
  await applyDraft(page);
  await expect(row(page, 'store')).toHaveCount(0);
  expect(await exportsOf(router)).toEqual([]);
});

test('values that the daemon refuses are shown at their fields', async ({ page, router }) => {
  await addStore(router);
  const before = await configured(router);
  await open(page, 'export');
  await page.getByRole('button', { name: 'Add collector' }).click();
  await field(page, 'collector', 'Name').fill('store');
  const added = form(page, 'store');
  await added.getByLabel('Port', { exact: true }).fill('0');
  await expect(added.getByText('A number from 1 to 65535.')).toBeVisible();
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(added.getByText('Duplicate value “store”.')).toBeVisible({ timeout: CHANGE_MS });
  await expect(added.getByText('A value is required.')).toBeVisible();
  await expect(added.getByLabel('Name')).toBeFocused();
  await expect(page.getByText('3 invalid values:')).toBeVisible();
  await expect(review(page)).toBeHidden();
  await added.getByLabel('Collector address').fill('collector.example');
  await expect(added.getByText(/Names are not resolved\./)).toHaveCount(2);
  expect(await configured(router)).toBe(before);
  expect(await exportsOf(router)).toMatchObject([{ name: 'store', host: hosts.h10 }]);
});

test('an unknown option of a collector is shown and can be removed', async ({ page, router }) => {
  await addStore(router, "\toption hots '192.0.2.1'\n");
  await expect
    .poll(() => router.run('ubus call log read \'{"lines": 1500, "oneshot": true}\''), {
      timeout: CHANGE_MS,
    })
    .toMatch(/option 'hots', .*is not an option of this section/);
  await open(page, 'export');
  const unknown = page.locator('[data-unknown=hots]');
  await expect(unknown).toContainText('This option does not belong to this section.');
  await expect(row(page, 'store').locator('[data-state=unknown]')).toBeVisible();
  await unknown.getByRole('button', { name: 'Remove option hots' }).click();
  await applyDraft(page);
  expect(await configured(router)).not.toContain('hots');
  await expect(row(page, 'store').locator('[data-state=unknown]')).toHaveCount(0, {
    timeout: CHANGE_MS,
  });
  expect(await exportsOf(router)).toMatchObject([{ name: 'store', host: hosts.h10 }]);
});

test('the number of hosts with metrics is set on the page', async ({ page, router }) => {
  await open(page, 'export');
  const number = page.getByLabel('Hosts reported individually');
  await expect(number).toHaveValue('20');
  await number.fill('101');
  await expect(page.getByText('A number from 0 to 100.')).toBeVisible();
  await number.fill('0');
  await applyDraft(page);
  expect(await configured(router)).toContain("option metrics_hosts '0'");
});
