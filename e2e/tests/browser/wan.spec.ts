// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { violations } from './axe';
import { apply, applyDraft, openReview, openSetup, undoChange, waitConfirmed } from './change';
import { core, expect, test } from './fixture';
import { hosts } from './lab';

/** Timeout until a session is up, rejected or down on an emulated gateway. */
const DIAL_MS = 180_000;

const line = (page: Page, state: 'up' | 'down') => page.locator(`[data-line="${state}"]`);
const said = (page: Page) => page.getByRole('list', { name: 'Connection log' });

test(
  'the WAN is disconnected and connected, and the log shows the PPPoE session',
  core,
  async ({ page, router }) => {
    await openSetup(page, 'wan');
    await expect(line(page, 'up')).toBeVisible({ timeout: DIAL_MS });
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await expect(line(page, 'down')).toBeVisible({ timeout: DIAL_MS });
    // pppd ends its session before it removes the device.
    await expect
      .poll(() => router.run('ip link show pppoe-wan 2>&1 || true'), { timeout: DIAL_MS })
      .not.toContain('UP,LOWER_UP');
    // netifd also takes the port down, which must not be reported as a missing link.
    await page.goto('#/overview');
    await expect(page.locator('[data-wan="wan"] .state')).toContainText('Disconnected');
    await expect(page.locator('[data-code="wan-disconnected"]')).toBeVisible();
    await page.goto('#/wan');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await expect(line(page, 'up')).toBeVisible({ timeout: DIAL_MS });
    expect(await router.run('ip link show pppoe-wan')).toContain('UP');
    await expect(said(page)).toContainText('pppd');
  },
);

test(
  'a new user name reaches the router, and the page never receives the password',
  { tag: ['@fault:pppoe-name-quotes', '@fault:pppoe-name-unicode'] },
  async ({ page, router }) => {
    const answers: string[] = [];
    page.on('response', (response) => {
      if (!response.url().endsWith('/ubus')) return;
      // The reload for the login may abort a response.
      const gone = () => '';
      void response.text().then((text) => answers.push(text), gone);
    });
    await openSetup(page, 'wan');
    const password = page.getByLabel('Password', { exact: true });
    await expect(password).toHaveValue('');
    await expect(password).toHaveAttribute('placeholder', 'unchanged');
    await page.getByLabel('User name').fill(`o'neil "x" ü`);
    await password.fill('geheim-1');
    const lines = (await openReview(page)).join('\n');
    expect(lines).toContain(`o'neil "x" ü`);
    expect(lines).toContain('•••');
    expect(lines).not.toContain('geheim-1');
    await apply(page);
    await waitConfirmed(page);
    const file = await router.run('cat /etc/config/network');
    expect(file).toContain(`option password 'geheim-1'`);
    expect(file).toContain('neil "x" ü');
    await expect(password).toHaveValue('');
    expect(await page.content()).not.toContain('geheim-1');
    expect(answers.join()).not.toContain('geheim-1');
    expect(await router.run('logread 2>/dev/null; cat /var/log/*.log')).not.toContain('geheim-1');
  },
);

test(
  'an invalid PPPoE user name is reported at its field and changes nothing',
  { tag: ['@fault:pppoe-name-long'] },
  async ({ page, router }) => {
    const before = await router.run('cat /etc/config/network');
    await openSetup(page, 'wan');
    await page.getByLabel('User name').fill('x'.repeat(500));
    await page.getByRole('button', { name: 'Review and apply' }).click();
    await expect(page.getByLabel('User name')).toHaveAttribute('aria-invalid', 'true');
    await expect(page.getByText('1 invalid value:')).toBeVisible();
    expect(await router.run('cat /etc/config/network')).toBe(before);
  },
);

test('baby jumbo frames raise the MTU of port, VLAN and session', async ({ page, lab, router }) => {
  await openSetup(page, 'wan');
  await page.getByLabel(/^Full-size packets over PPPoE/).check();
  await expect(page.getByRole('textbox', { name: 'MTU', exact: true })).toHaveValue('1500');
  await applyDraft(page);
  expect(await router.run('cat /sys/class/net/wan/mtu /sys/class/net/wan.35/mtu')).toBe(
    '1508\n1508\n',
  );
  // The lab's ISP accepts baby jumbo frames (RFC 4638), so a 1500-byte packet passes unfragmented.
  await expect
    .poll(() => router.run('cat /sys/class/net/pppoe-wan/mtu || true'), { timeout: DIAL_MS })
    .toBe('1500\n');
  await lab.verb('wait_for', '20', 'h10', 'ping -M do -s 1472 -c 1 -W 2 203.0.113.1');
});

// The lab has no mwan3: the page edits its file, and shows the state of netifd.
test('a second WAN and mwan3 are one draft, which undo takes back', async ({
  page,
  router,
  lan,
}) => {
  const text = `config interface 'wan'\n\toption enabled '0'\n\tlist track_ip '203.0.113.1'\n\n${[
    `config policy 'balanced'\n\tlist use_member 'wan_m1'\n`,
    `config member 'wan_m1'\n\toption interface 'wan'\n\toption metric '1'\n\toption weight '1'\n`,
    `config rule 'default_rule_v4'\n\toption dest_ip '0.0.0.0/0'\n\toption use_policy 'balanced'\n`,
  ].join('\n')}`;
  await router.run(`cat >/etc/config/mwan3 <<'END'\n${text}END\n`);
  try {
    // rpcd moves a list that it replaces to the end of its section.
    const files = () => router.run("cd /etc/config; sed '/^$/d' network firewall mwan3 | sort");
    const before = await files();
    await lan.download(hosts.isp);
    await openSetup(page, 'wan');
    const lines = page.getByRole('region', { name: 'Internet connections' });
    await lines.getByRole('button', { name: 'Add a connection' }).click();
    await lines.getByLabel('Port').selectOption('wan');
    await lines.getByLabel('VLAN').fill('35');
    await lines.getByRole('button', { name: 'Add connection' }).click();
    await expect(lines.getByLabel('Port')).toHaveAttribute('aria-invalid', 'true');
    await lines.getByLabel('VLAN').fill('50');
    await lines.getByRole('button', { name: 'Add connection' }).click();
    const row = (name: string) => page.locator(`[data-line-of="${name}"]`);
    await expect(row('wan2')).toContainText('20');
    await expect(row('wan')).toContainText(/Connected.*default route.*\d+, \d+ on the fast path/s);
    await lines.getByRole('button', { name: 'Prepare mwan3' }).click();
    expect(await violations(page)).toEqual([]);
    await applyDraft(page);
    await expect(row('wan2')).toContainText('standby');
    expect(await router.run('ip -br link show wan.50')).toContain('wan.50@wan');
    const mwan3 = await router.run('cat /etc/config/mwan3');
    expect(mwan3).toMatch(/config interface 'wan2'\n\toption enabled '1'/);
    expect(mwan3).toMatch(/'failover'[^]*list use_member 'wan_m1'\n\tlist use_member 'wan2_m2'/);
    expect(mwan3).toMatch(/'default_rule_v4'[^]*option use_policy 'failover'/);

    await undoChange(page);
    expect(await files()).toBe(before);
  } finally {
    await router.run('rm -f /etc/config/mwan3');
  }
});
