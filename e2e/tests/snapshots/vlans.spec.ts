// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { CONFIGS, replay, resultOf, type Recording } from './replay';
import { entered, shown } from './screens';

interface Section {
  type: string;
  values: Record<string, string | string[]>;
}

test.use({ locale: 'en-GB' });

async function open(
  page: Page,
  edit: (answers: Recording['answers']) => void = () => undefined,
): Promise<void> {
  await replay(page, edit);
  await entered(page);
  await page.goto('#/network');
  await shown(page);
}

const cell = (page: Page, port: string, vid: number) =>
  page.getByRole('radio', { name: `${port}, VLAN ${vid}: `, checked: true });
const choice = (page: Page, port: string, vid: number, member: string) =>
  page.getByRole('radio', { name: `${port}, VLAN ${vid}: ${member}`, exact: true });

test('a cell sets each membership and names the VLAN that the port leaves', async ({ page }) => {
  await open(page);
  const lan3 = cell(page, 'lan3', 20);
  await expect(lan3).toHaveText('–');
  // The port leaves the other VLAN only if it is untagged in this VLAN.
  for (const [words, other, left] of [
    ['tagged', 'u*', ''],
    ['untagged', '', 'leaves VLAN 10'],
    ['not a member', 'u*', ''],
    ['untagged', '', 'leaves VLAN 10'],
    ['tagged', 'u*', ''],
  ] as const) {
    await choice(page, 'lan3', 20, words).click();
    await expect(lan3).toHaveAccessibleName(`lan3, VLAN 20: ${words}`);
    await expect(cell(page, 'lan3', 10)).toHaveAttribute('data-member', other);
    await expect(page.locator('[data-leaves]')).toHaveText(left === '' ? [] : [left]);
  }
  await expect(page.getByRole('status').filter({ hasText: 'lan3, VLAN 20: ' })).toBeAttached();
});

test('keys set memberships and move through the table', async ({ page }) => {
  await open(page);
  await cell(page, 'lan1', 10).focus();
  await page.keyboard.press('ArrowDown');
  await expect(cell(page, 'lan1', 20)).toBeFocused();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  const lan3 = cell(page, 'lan3', 20);
  await expect(lan3).toBeFocused();
  await page.keyboard.press('ArrowLeft');
  await expect(lan3).toHaveAttribute('data-member', 'u*');
  for (const key of ['ArrowRight', 't', 'Delete']) {
    const left = await lan3.evaluate((cell, key) => {
      const down = { key, altKey: true, bubbles: true, cancelable: true };
      return cell.dispatchEvent(new KeyboardEvent('keydown', down));
    }, key);
    expect(left, key).toBe(true);
  }
  await expect(lan3).toHaveAttribute('data-member', 'u*');
  await page.keyboard.press('ArrowRight');
  await expect(lan3).toHaveAttribute('data-member', '');
  await page.keyboard.press('t');
  await expect(lan3).toHaveAttribute('data-member', 't');
  await expect(cell(page, 'lan3', 10)).toHaveAttribute('data-member', 'u*');
  await page.keyboard.press('u');
  await expect(lan3).toHaveAttribute('data-member', 'u*');
  await expect(cell(page, 'lan3', 10)).toHaveAttribute('data-member', '');
  await page.keyboard.press('Delete');
  await expect(lan3).toHaveAttribute('data-member', '');
  await expect(cell(page, 'lan3', 10)).toHaveAttribute('data-member', 'u*');
  await page.keyboard.press('ArrowDown');
  await expect(lan3).toBeFocused();
});

test('the form of a VLAN gets the focus and returns it', async ({ page }) => {
  await open(page);
  for (const [opener, form, field] of [
    ['Add VLAN', 'New VLAN', 'VLAN ID'],
    ['Edit iot', 'Edit iot', 'Name'],
  ] as const) {
    const button = page.getByRole('button', { name: opener, exact: true });
    await button.focus();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('form', { name: form }).getByLabel(field)).toBeFocused();
    await page.getByRole('form', { name: form }).getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await expect(button).toBeFocused();
  }
});

for (const [screen, opener, field] of [
  ['firewall', 'Add port forward', '[data-forward] input'],
  ['fastpath', 'Add exclusion', '[data-exclude] input'],
] as const) {
  test(`${opener} moves the focus into the new form`, async ({ page }) => {
    await open(page);
    await page.goto(`#/${screen}`);
    const fields = page.locator(field);
    const before = await fields.count();
    await page.getByRole('button', { name: opener }).click();
    await expect.poll(() => fields.count()).toBeGreaterThan(before);
    await expect(page.locator(`:is(${field}):focus`)).toHaveCount(1);
  });
}

test('twelve ports fit into 1280 px, and are stacked at 320 px', async ({ page }) => {
  const ports = Array.from({ length: 12 }, (_, i) => `lan${i + 1}`);
  await page.setViewportSize({ width: 1280, height: 800 });
  await open(page, (answers) => {
    const { configs } = resultOf<{ configs: { network: Section[] } }>(answers, CONFIGS);
    const bridge = configs.network.find(({ values }) => values['type'] === 'bridge');
    if (bridge) bridge.values['ports'] = ports;
    const status = answers['network.device status {}'] as { result: [number, object] };
    const link = { up: true, carrier: true, speed: '10000F' };
    status.result[1] = Object.fromEntries(ports.map((port) => [port, link]));
  });
  const table = page.getByRole('table', { name: 'Ports and VLANs of br-lan' });
  await expect(table).toContainText('10,000 Mbit/s');
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await expect(cell(page, 'lan12', 20)).toBeVisible();
    for (const port of ports) {
      const group = page.getByRole('radiogroup', { name: `${port}, VLAN 20`, exact: true });
      const box = await group.boundingBox();
      expect(box?.width, port).toBeGreaterThanOrEqual(3 * 24);
      expect((box?.x ?? 0) + (box?.width ?? 0), port).toBeLessThanOrEqual(width);
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(width);
    const inner = await table.evaluate((each) => [
      each.scrollWidth,
      each.parentElement?.clientWidth,
    ]);
    expect(inner[0]).toBeLessThanOrEqual(inner[1] ?? 0);
  }
});

test('a port forward stays expanded while it is edited', async ({ page }) => {
  await replay(page);
  await entered(page);
  await page.goto('#/firewall');
  await shown(page);
  const add = page.getByRole('button', { name: 'Add port forward' });
  await add.click();
  const first = page.locator('[data-forward]').last();
  await first.getByRole('textbox', { name: 'Name' }).fill('web');
  await add.click();
  const web = page.locator('[data-forward=web]');
  if ((await web.getAttribute('open')) === null) await web.locator('summary').click();
  await web.getByRole('textbox', { name: 'Name' }).fill('mail');
  const mail = page.locator('[data-forward=mail]');
  await expect(mail).toHaveAttribute('open');
  await expect(mail.getByRole('textbox', { name: 'Name' })).toBeFocused();
});
