// SPDX-License-Identifier: GPL-2.0-or-later
import { core, expect, open, test } from './fixture';

test('shows ports, VLANs, PPPoE and the devices of the flowtable', core, async ({ page }) => {
  await open(page, 'topology');
  const drawing = page.getByRole('img', {
    name: /Interfaces in the fast path: .*lan1, lan2, lan3/,
  });
  await expect(drawing).toBeVisible();
  for (const text of ['lan1', 'lan2', 'lan3', 'wan', 'br-lan', 'pppoe-wan']) {
    const exact = new RegExp(`^\\s*${text}\\s*$`);
    await expect(drawing.locator('text').filter({ hasText: exact }).first()).toBeVisible();
  }
  for (const text of [/VLAN 10/, /VLAN 20/, /VLAN 35/, /PPPoE session \d+/]) {
    await expect(drawing.locator('text').filter({ hasText: text }).first()).toBeVisible();
  }
  for (const device of ['lan1', 'lan2', 'lan3', 'wan']) {
    await expect(page.locator(`[data-device="${device}"]`)).toContainText('In the flowtable');
  }
  for (const device of ['br-lan', 'br-lan.10', 'br-lan.20', 'wan.35', 'pppoe-wan']) {
    await expect(page.locator(`[data-device="${device}"]`)).toContainText('Via its ports');
  }
  await expect(page.locator('[data-device="lo"]')).toContainText('Not offloaded');
  await expect(page.locator('[data-device="wan.35"]')).toContainText('vlan 35');
  await expect(page.locator('[data-device="br-lan"]')).toContainText('bridge');
});

test('shows the VLAN membership of each port', async ({ page }) => {
  await open(page, 'topology');
  const matrix = page.getByRole('table', { name: 'VLANs of br-lan' });
  const cells = (port: string) =>
    matrix
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: port }) })
      .getByRole('cell');
  await expect(matrix.getByRole('columnheader')).toHaveText(['Port', 'VLAN 10', 'VLAN 20']);
  for (const port of ['lan1', 'lan3']) {
    await expect(cells(port).nth(0)).toContainText('untagged');
    await expect(cells(port).nth(1)).toContainText('not a member');
  }
  await expect(cells('lan2').nth(0)).toContainText('not a member');
  await expect(cells('lan2').nth(1)).toHaveText(/^\s*tagged\s*$/);
  await expect(page.getByText('this kernel has no flowtable for bridges')).toBeVisible();
});

test('a new port is drawn without a reload', async ({ page, router }) => {
  await open(page, 'topology');
  await expect(page.locator('[data-device="lan1"]')).toBeVisible();
  await router.run(
    'ip link add e2e0 type veth peer name e2e1; ip link set e2e1 up; ' +
      'ip link set e2e0 master br-lan up; bridge vlan add dev e2e0 vid 10 pvid untagged',
  );
  await expect(page.locator('[data-device="e2e0"]')).toContainText('In the flowtable');
  await router.run('ip link delete e2e0');
  await expect(page.locator('[data-device="e2e0"]')).toHaveCount(0);
});
