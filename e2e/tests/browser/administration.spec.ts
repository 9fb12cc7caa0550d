// SPDX-License-Identifier: GPL-2.0-or-later
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { CHANGE_MS } from './change';
import { core, expect, open, test } from './fixture';
import { sessionOf } from './session';

async function apply(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Review and apply' }).click();
  const dialog = page.getByRole('dialog', { name: 'Changes' });
  await expect(dialog).toBeVisible();
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByText('The change is confirmed.')).toBeVisible();
}

test(
  'a port forward is added to the router, and removed by the button in its row',
  core,
  async ({ page, router }) => {
    const forwards = () => router.run('grep -c "e2e web" /etc/config/firewall || true');
    await open(page, 'firewall');
    await page.getByRole('button', { name: 'Add port forward' }).click();
    const form = page.locator('details[open][data-forward]').last();
    await form.getByRole('textbox', { name: 'Name' }).fill('e2e web');
    await form.getByLabel('External port').fill('8443');
    await form.getByLabel('Internal host').fill('10.10.10.10');
    await form.getByLabel('Internal port').fill('443');
    await apply(page);
    expect((await forwards()).trim()).toBe('1');
    // By default, a forward leads from the masquerading zone to a zone without masquerading.
    const section = await router.run('sed -n "/^config redirect/,/^$/p" /etc/config/firewall');
    expect(section).toContain("option src 'wan'");
    expect(section).toContain("option dest 'lan'");
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.goto('#/system');
    const last = page.locator('details[data-change]').first();
    await last.locator('> summary').click();
    await expect(last).toContainText('e2e web');
    await last.getByRole('button', { name: 'Undo this change' }).click();
    await apply(page);
    expect((await forwards()).trim()).toBe('0');
  },
);

test('an incomplete port forward is rejected at its fields', async ({ page }) => {
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.postData()?.includes('"fastpath.change","check"')) asked.push(request.url());
  });
  await open(page, 'firewall');
  await page.getByRole('button', { name: 'Add port forward' }).click();
  const form = page.locator('details[open][data-forward]').last();
  const port = form.getByLabel('External port');
  const host = form.getByLabel('Internal host');
  await expect(form.locator('[aria-invalid]')).toHaveCount(0);
  await form.locator('summary').click();
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(port).toBeFocused();
  await expect(form.getByText('Enter the port to forward.')).toBeVisible();
  await expect(host).toHaveAccessibleDescription(/address of the destination host/);
  await expect(page.getByText('2 invalid values:')).toBeVisible();
  await port.fill('8443');
  await expect(page.getByText('1 invalid value:')).toBeVisible();
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(host).toBeFocused();
  expect(asked).toEqual([]);
  await host.fill('10.10.10.10');
  await expect(form.locator('[aria-invalid]')).toHaveCount(0);
  await page.getByRole('button', { name: 'Discard' }).click();
});

test('the log is filtered by text and by severity', async ({ page, router }) => {
  const tag = `e2e${Date.now().toString(36)}`;
  // The lab has another logger earlier in PATH.
  const logger = `/usr/bin/logger -t ${tag}`;
  await router.run(
    `${logger} -p daemon.err a needle; ${logger} -p daemon.warn a blunt needle; ${logger} hay`,
  );
  await open(page, 'system');
  const log = page.getByRole('list', { name: 'System log' });
  await page.getByRole('searchbox', { name: 'Search text' }).fill(`needle ${tag.toUpperCase()}`);
  await expect(log.getByRole('listitem')).toHaveCount(2);
  const level = page.getByRole('combobox', { name: 'Severity' });
  await level.selectOption('Errors');
  await expect(log.getByRole('listitem')).toHaveCount(1);
  await expect(log).toContainText('a needle');
  await expect(log).not.toContainText('blunt');
  await level.selectOption('Warnings and errors');
  await expect(log.getByRole('listitem')).toHaveCount(2);
  await page.getByRole('searchbox', { name: 'Search text' }).fill(`straw ${tag}`);
  await expect(log.getByRole('listitem')).toHaveText('No matching lines.');
});

/** Creates a tar archive; `args` can add entries with paths outside the folder. */
function archive(...args: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'backup-'));
  execFileSync('mkdir', ['-p', join(folder, 'etc/config')]);
  writeFileSync(join(folder, 'etc/config/network'), "option password 'very secret'\n");
  const file = join(folder, 'backup.tar.gz');
  execFileSync('tar', ['-C', folder, '-czf', file, ...args, 'etc']);
  return file;
}

test(
  'a backup is listed by its file names, and other files are refused',
  { tag: ['@fault:backup-truncated', '@fault:backup-foreign', '@fault:backup-paths'] },
  async ({ page }) => {
    await open(page, 'system');
    const choose = page.getByLabel('Restore from file');
    const whole = archive();
    await choose.setInputFiles(whole);
    await expect(page.locator('[data-preview]')).toContainText('etc/config/network');
    await expect(page.locator('main')).not.toContainText('very secret');
    const name = { name: 'backup.tar.gz', mimeType: 'application/gzip' };
    const cut = readFileSync(whole);
    const bad: [Buffer, RegExp][] = [
      [cut.subarray(0, cut.length / 2), /is incomplete/],
      [Buffer.from('PK\u0003\u0004'), /not gzip-compressed/],
      [
        readFileSync(archive('--transform=s,etc/config,../../etc,')),
        /would be written outside the configuration/,
      ],
      [
        readFileSync(archive('--transform=s,etc/config,photos,')),
        /contains no files in etc\/config/,
      ],
    ];
    for (const [buffer, words] of bad) {
      await choose.setInputFiles({ ...name, buffer });
      await expect(page.getByRole('status').filter({ hasText: words })).toBeVisible();
      await expect(page.locator('[data-preview]')).toHaveCount(0);
      await expect(page.getByRole('button', { name: 'Restore and reboot' })).toHaveCount(0);
    }
  },
);

/** A backup of an unconfirmed change would outlive its roll-back. */
test('a backup during a pending change shows a warning', async ({ page, router }) => {
  await open(page, 'system');
  const warning = page.locator('[data-unconfirmed]');
  await expect(page.getByRole('button', { name: 'Download backup' })).toBeVisible();
  await expect(warning).toHaveCount(0);
  const edits = '[{"config": "network", "op": "set", "section": "lan", "values": {"metric": "7"}}]';
  const call = (method: string, args: string) =>
    router.run(`ubus call fastpath.change ${method} '${args}'`);
  const { id } = JSON.parse(await call('apply', `{"edits": ${edits}, "seconds": 600}`)) as {
    id: number;
  };
  try {
    await page.reload();
    await expect(warning).toContainText('A backup made now contains it', { timeout: CHANGE_MS });
  } finally {
    await call('revert', `{"id": ${id}}`);
  }
  await expect(warning).toHaveCount(0, { timeout: CHANGE_MS });
});

test(
  'a new account can log in, and the router stores no plain-text password',
  core,
  async ({ page, request, router }) => {
    await router.run('cp /etc/config/rpcd /tmp/rpcd.e2e');
    try {
      await open(page, 'system');
      await page.getByRole('button', { name: 'Add user' }).click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('e2e-guest');
      await page.getByRole('textbox', { name: /^New password/ }).fill('correct horse');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await expect(page.locator('[data-user="e2e-guest"]')).toBeVisible();
      await apply(page);
      expect(await page.content()).not.toContain('correct horse');
      expect(await router.run('cat /etc/config/rpcd')).toMatch(/password '\$6\$[\s\S]*e2e-guest/);
      await router.run('! grep -rq "correct horse" /etc /var/run/fastpath-access.json');
      expect(await sessionOf(request, 'e2e-guest', 'correct horse')).toMatch(/^\w{32}$/);
    } finally {
      await router.run('cp /tmp/rpcd.e2e /etc/config/rpcd');
    }
  },
);
