// SPDX-License-Identifier: GPL-2.0-or-later
import { core, expect, note, open, rowOf, test } from './fixture';
import { DOWNLOAD_BYTES, hosts } from './lab';

/** Maximum delay from the command on the host to the path on the page. */
const SHOWN_MS = 3000;

test('a flow from h10 is shown on the flowtable', { tag: '@timed' }, async ({ page, lan }) => {
  await open(page, 'flows');
  const opened = Date.now();
  const port = await lan.download(hosts.isp);
  const row = rowOf(page, port);
  await expect(row).toContainText('Flowtable', { timeout: SHOWN_MS });
  note(`shown ${Date.now() - opened} ms after the command that opened it`);
  await expect(row).toContainText('lan 10');
  await expect(row).toContainText('wan 35');
  await expect(row).toContainText('h10');
});

test('switching the engine off moves a flow to the slow path with a reason', async ({
  page,
  lan,
  router,
}) => {
  const port = await lan.download(hosts.h20);
  await open(page, 'flows');
  const row = rowOf(page, port);
  await expect(row).toContainText('Flowtable');
  await row.getByRole('button').click();
  const panel = page.getByRole('complementary');
  await expect(panel).toContainText('through the kernel’s flowtable');
  await router.run('fastpathctl engine off');
  await expect(row).toContainText('Slow');
  await expect(row).toContainText('Engine is off');
  await expect(panel).toContainText('Offloading is disabled, so every flow takes');
  await router.run('fastpathctl engine flowtable');
  await expect(row).toContainText('Flowtable');
  await expect(row).not.toContainText('Engine is off');
  const life = panel.getByRole('list', { name: 'History' }).getByRole('listitem');
  await expect(life.filter({ hasText: 'Engine is off' })).toHaveCount(1);
  await expect(life.last()).toContainText('Flowtable');
});

test('the bytes on the page agree with the size of the file', core, async ({ page, lan }) => {
  await lan.holdDownload('isp', hosts.isp);
  await open(page, 'flows');
  await page.getByRole('searchbox', { name: 'Filter flows' }).fill('9000');
  await page
    .getByRole('button', { name: /^TCP 10\.10\.10\.10:\d+ to 203\.0\.113\.1:9000$/ })
    .click();
  const down = page
    .getByRole('complementary')
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: 'Down', exact: true }) });
  const cells = down.getByRole('cell');
  const number = (text: string | null) => Number((text ?? '').replaceAll(',', ''));
  // The tooltip has the exact number of bytes. Each packet adds 52 bytes of headers.
  await expect
    .poll(async () => {
      const bytes = number(await cells.nth(1).getAttribute('title'));
      const packets = number(await cells.nth(2).textContent());
      return Math.abs(bytes / (DOWNLOAD_BYTES + packets * 52) - 1);
    })
    .toBeLessThan(0.01);
});

test('the address after NAT is shown on demand', async ({ page, lan }) => {
  const port = await lan.download(hosts.isp);
  await open(page, 'flows');
  const row = rowOf(page, port);
  await expect(row).toBeVisible();
  const translated = new RegExp(`198\\.51\\.100\\.\\d+:${port}`);
  await expect(row).not.toContainText(translated);
  await page.getByRole('button', { name: 'NAT addresses' }).click();
  await expect(row).toContainText(translated);
});

test('the daemon filters, sorts and groups flows', async ({ page, lan }) => {
  const port = await lan.download(hosts.isp);
  const other = await lan.download(hosts.h20);
  await lan.begin('h10', 'ping', `exec ping -i 0.3 ${hosts.h20}`);
  await open(page, 'flows');
  const ping = page.getByRole('row').filter({ hasText: 'ICMP' }).filter({ hasText: 'h20' });
  await expect(ping).toContainText('Unsupported protocol');
  await page.getByLabel('Protocol').selectOption('TCP');
  await expect(ping).toHaveCount(0);
  await expect(rowOf(page, port)).toBeVisible();
  await page.getByLabel('VLAN').selectOption('VLAN 20');
  await expect(rowOf(page, port)).toHaveCount(0);
  await expect(rowOf(page, other)).toBeVisible();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect(rowOf(page, port)).toBeVisible();
  await page.getByRole('group', { name: 'Paths' }).getByRole('button', { name: /Slow/ }).click();
  await expect(rowOf(page, port)).toHaveCount(0);
  await expect(ping).toBeVisible();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('button', { name: 'Age' }).click();
  const head = page.getByRole('columnheader', { name: 'Age' });
  await expect(head).toHaveAttribute('aria-sort', 'descending');
  await page.getByRole('button', { name: 'Age' }).click();
  await expect(head).toHaveAttribute('aria-sort', 'ascending');
  await page.getByLabel('Group').selectOption('By host');
  await expect(page.locator('.g-key').filter({ hasText: 'h10' })).toBeVisible();
});

test('a paused table does not change', async ({ page, lan }) => {
  await open(page, 'flows');
  await page.getByRole('button', { name: 'Pause' }).click();
  const port = await lan.download(hosts.isp);
  await expect(page.getByText(/updates? held/)).toBeVisible();
  await expect(rowOf(page, port)).toHaveCount(0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(rowOf(page, port)).toContainText('Flowtable');
});

test('a viewer sees the entries of the chip that hold a flow', async ({ page, lan, router }) => {
  const found = await router.run('modprobe mock_switch 2>/dev/null && echo yes || true');
  test.skip(found.trim() !== 'yes', 'the switch is a module of the user-mode machine’s kernel');
  const folder = '/sys/kernel/debug/ppe0';
  try {
    await router.run('echo ports lan1 lan2 lan3 wan >/proc/mock_switch');
    await router.run('fastpathctl engine flowtable-hw');
    const port = await lan.download(hosts.h20);
    await open(page, 'flows', 'viewer');
    const row = rowOf(page, port);
    await expect(row).toContainText('Hardware');
    await row.getByRole('button').click();
    const panel = page.getByRole('complementary');
    const show = panel.getByRole('button', { name: 'Show entries of the chip' });
    await show.click();
    await expect(panel.locator('[data-fact=ppe]')).toHaveText('Not shown: debugfs is not mounted.');

    // The table of a driver, which the lab lacks, in the format of mtk_ppe_debugfs.c (Linux 6.12).
    const [client, server] = [`${hosts.h10}:${port}`, `${hosts.h20}:80`];
    const line = (index: string, from: string, to: string) =>
      `${index} BND IPv4 5T orig=${from}->${to} new=${from}->${to} eth=02:00:00:00:00:01->` +
      '02:00:00:00:00:02 etype=0000 vlan=0,0 ib1=21b10e5c ib2=007ff028 packets=1 bytes=100';
    await router.run(`busybox mount -t tmpfs none /sys/kernel; mkdir -p ${folder}
      echo '${line('00123', client, server)}' >${folder}/entries
      echo '${line('02b41', server, client)}' >>${folder}/entries`);
    await show.click();
    const facts = panel.locator('.facts').filter({ hasText: 'IPv4 5T' });
    await expect(facts).toHaveCount(2);
    await expect(facts.first()).toContainText('ppe0 00123');
    await expect(facts.first()).toContainText('the chip forwards these packets (BND)');
    await expect(facts.first()).toContainText(`${client} → ${server}`);
    await expect(facts.last()).toContainText(`${server} → ${client}`);
    await expect(panel.locator('[data-fact=ppe]')).toBeEmpty();
  } finally {
    await router.run(`fastpathctl engine flowtable
      [ ! -d ${folder} ] || busybox umount /sys/kernel
      rmmod mock_switch`);
  }
});
