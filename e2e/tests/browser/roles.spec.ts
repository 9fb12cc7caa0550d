// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { applyDraft } from './change';
import { core, expect, open, passwords, test } from './fixture';
import { standaloneOnly } from './place';
import { rpc, sessionOf } from './session';

const rights = fileURLToPath(
  new URL(
    '../../../luci-app-fastpath/root/usr/share/rpcd/acl.d/luci-app-fastpath.json',
    import.meta.url,
  ),
);

interface Group {
  write: { ubus: Record<string, string[]> };
}

const writes = Object.entries(
  (JSON.parse(readFileSync(rights, 'utf8')) as Record<string, Group>)['luci-app-fastpath']?.write
    .ubus ?? {},
).flatMap(([object, methods]) => methods.map((method) => [object, method] as const));

test(
  'a viewer may not call writing methods',
  { tag: ['@core', '@fault:viewer-writes'] },
  async ({ request }) => {
    expect(writes.length).toBeGreaterThan(20);
    const session = await sessionOf(request, 'viewer');
    const status = await rpc(request, session, 'fastpath', 'status', {});
    expect(status.result?.[0], 'a method that only reads').toBe(0);
    for (const [object, method] of writes) {
      const { error } = await rpc(request, session, object, method, {});
      expect.soft(error?.code, `${object} ${method}`).toBe(-32002);
    }
  },
);

test('a viewer can neither download a backup nor upload a file', async ({ request }) => {
  const session = await sessionOf(request, 'viewer');
  const backup = await request.post('/cgi-bin/cgi-backup', { form: { sessionid: session } });
  expect(backup.status()).toBe(403);
  const file = { name: 'x', mimeType: 'application/gzip', buffer: Buffer.from('x') };
  const multipart = { sessionid: session, filename: '/tmp/backup.tar.gz', filedata: file };
  const upload = await request.post('/cgi-bin/cgi-upload', { multipart });
  const taken = upload.ok() && !('failure' in ((await upload.json()) as object));
  expect(taken).toBe(false);
});

/** rpcd's folder of staged changes, with a subfolder per session id. */
const STAGED = { path: '/var/run/rpcd' };
const REFUSED = { error: { code: -32002 } };

test(
  'a viewer created on the page cannot list folders',
  { tag: '@fault:viewer-lists-sessions' },
  async ({ page, request, router }) => {
    await router.run('cp /etc/config/rpcd /tmp/rpcd.e2e; mkdir -p /var/run/rpcd');
    try {
      await open(page, 'system');
      await page.getByRole('button', { name: 'Add user' }).click();
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('e2e-made');
      await page.getByRole('textbox', { name: /^New password/ }).fill('correct horse');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await expect(page.locator('[data-user="e2e-made"]')).toBeVisible();
      await applyDraft(page);
      const root = await sessionOf(request, 'root');
      expect((await rpc(request, root, 'file', 'list', STAGED)).result?.[0], 'root').toBe(0);
      const made = await sessionOf(request, 'e2e-made', 'correct horse');
      expect((await rpc(request, made, 'fastpath', 'status', {})).result?.[0]).toBe(0);
      expect(await rpc(request, made, 'file', 'list', STAGED)).toMatchObject(REFUSED);
    } finally {
      await router.run('cp /tmp/rpcd.e2e /etc/config/rpcd');
    }
  },
);

test(
  'the page marks a viewer with LuCI’s rights, and can revoke them',
  { tag: '@fault:viewer-lists-sessions' },
  async ({ page, request, router }) => {
    await router.run('cp /etc/config/rpcd /tmp/rpcd.e2e; mkdir -p /var/run/rpcd');
    const list = async () => {
      const session = await sessionOf(request, 'viewer');
      return rpc(request, session, 'file', 'list', STAGED);
    };
    try {
      await router.run(`sed -i "/username 'viewer'/a list read luci-base" /etc/config/rpcd`);
      expect((await list()).result?.[0], 'luci-base lists folders').toBe(0);
      await open(page, 'system');
      const row = page.locator('[data-user="viewer"]');
      await expect(row).toContainText('session');
      await row.getByRole('button', { name: 'Revoke these rights of viewer' }).click();
      await expect(row).not.toContainText('session');
      await applyDraft(page);
      expect(await list()).toMatchObject(REFUSED);
    } finally {
      await router.run('cp /tmp/rpcd.e2e /etc/config/rpcd');
    }
  },
);

test('a viewer sees every screen without writing controls', core, async ({ page }) => {
  await open(page, 'overview', 'viewer');
  const settings = ['fastpath', 'firewall', 'cpu', 'export', 'system', 'network', 'wan', 'health'];
  for (const screen of settings) {
    await page.goto(`#/${screen}`);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.locator('main section.panel').first()).toBeVisible();
    for (const name of [/Review and apply/, /^Remove/, /^Add /, /Restore/, /Reboot/, /Download/]) {
      await expect(page.getByRole('button', { name }), `${screen} ${name}`).toHaveCount(0);
    }
    const open = page.locator('main :is(input[type=checkbox], select):enabled:not([aria-label])');
    await expect(open, screen).toHaveCount(0);
  }
});

test(
  'password guessing is throttled, and the right password logs in',
  { tag: ['@fault:password-guessing'] },
  async ({ page, router }) => {
    standaloneOnly();
    await router.run('rm -f /var/run/fastpath-access.json');
    await page.goto('');
    const enter = async (password: string) => {
      await page.getByLabel('User name').fill('viewer');
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Log in', exact: true }).click();
    };
    for (let tries = 1; tries <= 5; tries += 1) {
      await enter(`wrong ${tries}`);
      await expect(page.getByRole('alert')).toHaveText(/Wrong user name|Too many/);
    }
    const waits = page.getByRole('button', { name: /^Try again in \d+ seconds?$/ });
    await expect(waits).toBeDisabled();
    const failures = await router.run('cat /var/run/fastpath-access.json');
    expect(JSON.parse(failures)).toMatchObject({ accounts: { viewer: { failures: 5 } } });
    expect(failures).not.toContain('wrong');
    await enter(passwords.viewer);
    await expect(page.getByRole('navigation', { name: 'Screens' })).toBeVisible();
    await router.run('! grep -q viewer /var/run/fastpath-access.json');
  },
);
