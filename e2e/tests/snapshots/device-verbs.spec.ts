// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test } from '@playwright/test';
import { ANNA, draftLoaded, open, verb } from './devices';

test.use({ locale: 'en-GB' });

test('a device is paused for an hour and resumed, with the focus on the next button', async ({
  page,
}) => {
  const { answer, asked } = await open(page, 'devices');
  await page.getByRole('link', { name: /^Anna's phone/ }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText("Anna's phone");
  await verb(page, 'Pause 1 h').focus();
  await page.keyboard.press('Enter');
  const until_s = Math.floor((answer.now_ms + 3_600_000) / 1000);
  await expect(page.locator('main [data-state=paused]')).toHaveText(/Paused until 03:27/);
  await expect(page.getByText('Paused until 03:27.', { exact: true })).toBeVisible();
  await expect(verb(page, 'Resume')).toBeFocused();
  await expect(verb(page, 'Pause 1 h')).toHaveCount(0);
  await page.keyboard.press('Enter');
  await expect(verb(page, 'Pause 1 h')).toBeFocused();
  await expect(page.locator('main [data-state=paused]')).toHaveCount(0);
  await verb(page, 'Block').click();
  await expect(page.getByText('Paused until you resume it.')).toBeVisible();
  expect(asked).toEqual([
    `pause ${JSON.stringify({ mac: ANNA, until_s })}`,
    `resume ${JSON.stringify({ mac: ANNA })}`,
    `pause ${JSON.stringify({ mac: ANNA, until_s: 0 })}`,
  ]);
});

test('a refused verb says why', async ({ page }) => {
  await open(page, `devices?mac=${ANNA}`);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    if (params[1] !== 'fastpath.device') return route.fallback();
    const error = { code: 'unknown', text: 'the file is not writable' };
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, { error }] } });
  });
  await verb(page, 'Block').click();
  await expect(page.getByText('Not done: the file is not writable')).toBeVisible();
});

test('a group is paused until morning in one click', async ({ page }) => {
  const { asked } = await open(page, 'devices');
  const group = page.locator('[data-group=children]');
  await group.getByRole('button', { name: 'Pause until 07:00: children' }).click();
  await expect(group).toContainText('paused: 2');
  await expect(group.getByRole('button', { name: 'Resume: children' })).toBeFocused();
  expect(asked).toHaveLength(1);
  const args = JSON.parse(asked[0]?.replace('pause ', '') ?? '') as {
    group: string;
    until_s: number;
  };
  expect(args.group).toBe('children');
  expect(new Date(args.until_s * 1000).toISOString()).toMatch(/T07:00:00/);
});

test('name, kind and group are saved at once, and the device can be forgotten', async ({
  page,
}) => {
  const { asked } = await open(page, 'devices?mac=52:54:00:02:00:02');
  const form = page.getByRole('region', { name: 'Device', exact: true });
  await expect(verb(page, 'Forget')).toHaveCount(0);
  await form.getByLabel('Kind').selectOption('Camera');
  await form.getByLabel('Name').fill('Front door');
  await form.getByLabel('Name').press('Enter');
  await expect(page.getByText('Saved.')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Front door');
  expect(asked).toEqual([
    `set ${JSON.stringify({ mac: '52:54:00:02:00:02', kind: 'camera', name: 'Front door' })}`,
  ]);
  await page.goto(`#/devices?mac=${ANNA}`);
  await verb(page, 'Forget').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
  await expect(page.getByText('Forgotten.')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('10.10.10.10');
});

test("vendor and kind say where they are from, and the kind is not yet the owner's", async ({
  page,
}) => {
  const mac = '52:54:00:02:00:02';
  const { asked, answer } = await open(page, `devices?mac=${mac}`, ({ devices }) => {
    const told = { kind: 'printer', kind_source: 'mdns', vendor: 'Example \u202eLtd' };
    Object.assign(devices.find((each) => each.mac === mac) ?? {}, told);
  });
  const panel = page.getByRole('region', { name: 'Device', exact: true });
  await expect(panel.locator('dl')).toContainText('Example U+202ELtd');
  await expect(panel.locator('dl')).toContainText('Printer as it announces (mDNS)');
  await expect(panel.getByLabel('Kind')).toHaveValue('');
  await panel.getByLabel('Kind').selectOption('Printer');
  await panel.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  expect(asked).toEqual([`set ${JSON.stringify({ mac, kind: 'printer' })}`]);
  await page.goto('#/devices');
  await page.getByRole('searchbox', { name: 'Search devices' }).fill('example');
  await expect(page.locator('tr[data-device]')).toHaveCount(1);
  await expect(page.locator('tr[data-device]')).toContainText('Example');

  const found = answer.devices.find((each) => each.mac === mac);
  Object.assign(answer, { vendors: false });
  Object.assign(found ?? {}, { vendor: '', random: false, kind: '', kind_source: '' });
  await page.goto(`#/devices?mac=${mac}`);
  await expect(panel.locator('dl')).toContainText('package arp-scan-database is not installed');
  await expect(panel.locator('dl')).not.toContainText('Printer');
});

const reservation = {
  ...{ config: 'dhcp', op: 'add', type: 'host', id: 'new1' },
  values: { name: 'annas-phone', mac: ANNA, ip: '10.10.10.10' },
};

test('an address is reserved at once', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  await draftLoaded(page);
  await verb(page, 'Reserve 10.10.10.10').click();
  await expect(page.getByText('10.10.10.10 is being reserved for this device.')).toBeVisible();
  await expect(verb(page, '10.10.10.10 is reserved')).toBeDisabled();
  const edits = JSON.stringify([reservation]);
  expect(asked).toEqual([edits, `apply ${edits}`]);
});

test('beside other edits, a reservation is a part of the draft', async ({ page }) => {
  const { asked } = await open(page, 'devices');
  await page.locator('[data-schedule=bedtime] summary').click();
  await page.locator('[data-schedule=bedtime]').getByLabel('Pause at').fill('20:00');
  await page.getByRole('link', { name: /^Anna's phone/ }).click();
  await draftLoaded(page);
  await verb(page, 'Reserve 10.10.10.10').click();
  await expect(page.getByText('In the draft: 10.10.10.10 stays with this device.')).toBeVisible();
  expect(asked).toEqual([]);
  await verb(page, 'Review and apply').click();
  await expect(page.getByRole('dialog', { name: 'Changes' })).toBeVisible();
  expect(asked).toHaveLength(1);
  expect(JSON.parse(asked[0] ?? '')).toContainEqual(reservation);
});

test('a change that would cut off somebody is not applied at once', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    if (params[2] !== 'check') return route.fallback();
    const cuts = [{ code: 'own-address', params: {}, text: 'the page moves' }];
    const result = [0, { problems: [], diff: [], cuts }];
    return route.fulfill({ json: { jsonrpc: '2.0', id, result } });
  });
  await draftLoaded(page);
  await verb(page, 'Reserve 10.10.10.10').click();
  await expect(page.getByText('In the draft: 10.10.10.10 stays with this device.')).toBeVisible();
  await expect(verb(page, 'Review and apply')).toBeVisible();
  expect(asked).toEqual([]);
});

test('a port forward opens filled in, with only the port to type', async ({ page }) => {
  await open(page, `devices?mac=${ANNA}`);
  await draftLoaded(page);
  await verb(page, 'Forward a port').click();
  await expect(page).toHaveURL(/#\/firewall/);
  const form = page.locator('details[open][data-forward]');
  await expect(form.getByLabel('Internal host')).toHaveValue('10.10.10.10');
  await expect(form.getByRole('textbox', { name: 'Name' })).toHaveValue("Anna's phone");
  await form.getByLabel('External port').fill('3074');
  await expect(form.locator('summary')).toContainText('10.10.10.10');
});

test('a device is never inspected', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  await verb(page, 'Never inspect').click();
  await expect(verb(page, 'Not inspected')).toBeDisabled();
  await expect(page.getByLabel('Inspection', { exact: true })).toHaveValue('never');
  expect(asked).toEqual([`set ${JSON.stringify({ mac: ANNA, inspect: 'never' })}`]);
});

test('a device is limited and always inspected by keyboard', async ({ page }) => {
  const { asked } = await open(page, `devices?mac=${ANNA}`);
  const form = page.getByRole('region', { name: 'Limits and inspection' });
  const save = form.getByRole('button', { name: 'Save' });
  await expect(save).toBeDisabled();
  await form.getByLabel('Down').fill('0');
  await expect(form.getByText('From 0.008 to 10000, or empty')).toBeVisible();
  await expect(save).toBeDisabled();
  await form.getByLabel('Down').fill('5');
  await form.getByLabel('Quota per day').fill('1.5');
  await form.getByLabel('Inspection').selectOption('Always');
  await form.getByLabel('Up').fill('0.5');
  await form.getByLabel('Up').press('Enter');
  await expect(page.getByText('Saved.')).toBeVisible();
  await expect(save).toBeDisabled();
  await form.getByLabel('Down').fill('');
  await form.getByLabel('Down').press('Enter');
  await expect(form.getByLabel('Down')).toHaveValue('');
  await expect
    .poll(() => asked)
    .toEqual([
      `limit ${JSON.stringify({ mac: ANNA, down: 5000, up: 500 })}`,
      `set ${JSON.stringify({ mac: ANNA, inspect: 'always', quota_mb: 1500 })}`,
      `limit ${JSON.stringify({ mac: ANNA, down: 0, up: 500 })}`,
    ]);
});
