// SPDX-License-Identifier: GPL-2.0-or-later
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, shown } from './screens';

type Answers = Record<string, object>;

async function controls(page: Page, screen: string, answers: Answers): Promise<string[]> {
  const asked: string[] = [];
  await replay(page);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const [, object, method, args] = params as [string, string, string, object];
    const answer = answers[`${object} ${method}`];
    if (!answer) return route.fallback();
    asked.push(`${object} ${method} ${JSON.stringify(args)}`);
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, answer] } });
  });
  await page.route('**/cgi-bin/cgi-upload', (route) => {
    const body = route.request().postDataBuffer()?.toString('latin1') ?? '';
    const [, name] = /name="filename"\r\n\r\n([^\r]*)/.exec(body) ?? [];
    const [, data = ''] = /name="filedata"[^]*?\r\n\r\n([^]*)\r\n--/.exec(body) ?? [];
    asked.push(`upload ${name}`);
    return route.fulfill({ json: { size: data.length } });
  });
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
  return asked;
}

const dialog = (page: Page) => page.getByRole('dialog');

test.use({ locale: 'en-GB' });

test('the switch disconnects a connected WAN', async ({ page }) => {
  const asked = await controls(page, 'wan', {
    'network.interface down': {},
    'network.interface up': {},
  });
  await page.getByRole('button', { name: 'Disconnect' }).click();
  await expect.poll(() => asked).toEqual(['network.interface down {"interface":"wan"}']);
});

test('an engine button requests that engine', async ({ page }) => {
  const asked = await controls(page, 'overview', { 'fastpath engine': { active: 'off' } });
  await page.getByRole('group', { name: 'Engine' }).getByRole('button', { name: 'Off' }).click();
  await expect.poll(() => asked).toEqual(['fastpath engine {"set":"off"}']);
});

test('Unblock ends the block of its row after a confirmation', async ({ page }) => {
  const asked = await controls(page, 'protection', { 'fastpath block_release': {} });
  const address = '10.10.20.10';
  await page.getByRole('button', { name: `Unblock ${address}` }).click();
  await expect(dialog(page)).toContainText(`Unblock ${address}?`);
  expect(asked).toEqual([]);
  await dialog(page).getByRole('button', { name: 'Unblock' }).click();
  await expect(page.getByText(`${address} is unblocked.`)).toBeVisible();
  expect(asked).toEqual([`fastpath block_release {"address":"${address}"}`]);
  await expect(page.locator(`[data-block="${address}"]`)).toHaveCount(0);
});

test('connections are re-inspected after a confirmation', async ({ page }) => {
  const asked = await controls(page, 'protection', { 'fastpath reinspect': { flows: 2 } });
  await page.getByRole('button', { name: 'Inspect all connections again' }).click();
  expect(asked).toEqual([]);
  await dialog(page).getByRole('button', { name: 'Inspect all connections again' }).click();
  await expect(page.getByText('2 connections returned to inspection.')).toBeVisible();
  expect(asked).toEqual(['fastpath reinspect {}']);
});

const budget = (page: Page) => page.getByLabel('Budget per connection, bytes');
const applied = (page: Page) => page.getByRole('button', { name: 'Review and apply' });

test('a problem that the router reports is shown at its field', async ({ page }) => {
  const where = { config: 'fastpath', section: 'ips', option: 'budget_bytes' };
  const problem = { ...where, code: 'too-large', params: { value: '2097152' }, text: 'no' };
  const asked = await controls(page, 'protection?part=policy', {
    'fastpath.change check': { problems: [problem], diff: [], cuts: [] },
  });
  await budget(page).fill('much');
  await expect(budget(page)).toHaveAccessibleDescription(/A size such as 1 MiB/);
  await budget(page).fill('2 MiB');
  await applied(page).click();
  await expect(budget(page)).toHaveAccessibleDescription(/“2097152” is too large\./);
  await expect(budget(page)).toBeFocused();
  expect(asked.join()).toContain('"section":"ips","values":{"budget_bytes":"2097152"}');
});

test('a default value is not written to an unset option', async ({ page }) => {
  await controls(page, 'protection?part=policy', {});
  await expect(budget(page)).toHaveValue('1 MiB');
  await budget(page).fill('2 MiB');
  await expect(applied(page)).toBeVisible();
  await budget(page).fill('1024 KiB');
  await expect(applied(page)).toBeHidden();
  await budget(page).blur();
  await expect(budget(page)).toHaveValue('1 MiB');
});

test('the first value of a section creates the section', async ({ page }) => {
  const asked = await controls(page, 'protection?part=rules', {
    'fastpath.change check': { problems: [], diff: [], cuts: [] },
  });
  await page.getByLabel('Daily update').click();
  await applied(page).click();
  await expect(dialog(page)).toBeVisible();
  const edit = '"op":"add","type":"update","section":"update","values":{"enabled":"0"}';
  expect(asked.join()).toContain(edit);
});

test('a label of several lines leaves the controls aligned', async ({ page }) => {
  await controls(page, 'fastpath', {});
  const engine = page.getByRole('region', { name: 'Engine', exact: true });
  const label = engine.getByText('When the daemon stops');
  await label.evaluate((each) => (each.textContent += ' '.padEnd(120, 'for any reason ')));
  const tops = async () => {
    const boxes = await engine.locator('.field').all();
    return Promise.all(boxes.map(async (each) => (await each.boundingBox())?.y));
  };
  expect(await tops()).toHaveLength(2);
  expect(new Set(await tops()).size).toBe(1);
  expect((await label.boundingBox())?.height).toBeGreaterThan(30);
});

const names = (page: Page) =>
  page
    .getByRole('table', { name: 'Inspection policies' })
    .getByRole('row', { name: /^\d+\. / })
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')));

test('the keyboard adds, moves and removes a policy, and the focus follows', async ({ page }) => {
  await controls(page, 'protection?part=policy', {});
  await page.getByRole('button', { name: 'Add policy' }).press('Enter');
  await page.keyboard.type('new one');
  expect(await names(page)).toEqual(['1. cameras', '2. new one']);
  await page.getByRole('button', { name: 'Move new one up' }).press('Enter');
  expect(await names(page)).toEqual(['1. new one', '2. cameras']);
  await expect(page.getByRole('button', { name: 'Move new one down' })).toBeFocused();
  await page.getByRole('button', { name: 'Remove new one' }).press('Enter');
  expect(await names(page)).toEqual(['1. cameras']);
  await expect(page.getByLabel('1. cameras: Name')).toBeFocused();
});

test('a zone and its VLAN are one choice, and “any” clears both', async ({ page }) => {
  const asked = await controls(page, 'protection?part=policy', {
    'fastpath.change check': { problems: [], diff: [], cuts: [] },
  });
  const from = page.getByLabel('1. cameras: From');
  await expect(from.locator('option')).toHaveText([
    ...['any', 'lan', 'lan (VLAN 10)', 'iot', 'iot (VLAN 20)'],
    ...['wan', 'wan (VLAN 35)', 'mgmt'],
  ]);
  await from.selectOption({ label: 'lan (VLAN 10)' });
  await page.getByLabel('1. cameras: To').selectOption({ label: 'any' });
  await applied(page).click();
  await expect(dialog(page)).toBeVisible();
  expect(asked.join()).toContain('"values":{"dest":null,"src":"lan","src_vlan":"10"}');
});

test('a refused VLAN of a policy is shown at its field', async ({ page }) => {
  const where = { config: 'fastpath', section: 'cfg036ff5', option: 'src_vlan' };
  const problem = { ...where, code: 'too-large', params: { value: '4095' }, text: 'no' };
  await controls(page, 'protection?part=policy', {
    'fastpath.change check': { problems: [problem], diff: [], cuts: [] },
  });
  const from = page.getByLabel('1. cameras: From');
  await from.selectOption({ label: 'lan (VLAN 10)' });
  await applied(page).click();
  await expect(from).toHaveAccessibleDescription(/“4095” is too large\./);
  await expect(from).toBeFocused();
});

test('the IPS switch has the same state on Status and Policies', async ({ page }) => {
  await controls(page, 'protection', {});
  const ips = page.getByLabel('Intrusion prevention (IPS)');
  await expect(ips).toBeChecked();
  await ips.uncheck();
  await expect(applied(page)).toBeVisible();
  await page.getByRole('link', { name: 'Policies', exact: true }).click();
  await expect(ips).not.toBeChecked();
  await expect(applied(page)).toBeVisible();
});

const image = { name: 'image.bin', mimeType: 'application/octet-stream', buffer: Buffer.from('x') };

for (const keep of [true, false]) {
  test(`an image is installed ${keep ? 'with' : 'without'} the configuration`, async ({ page }) => {
    const asked = await controls(page, 'system', {
      'rpc-sys upgrade_test': { code: 0 },
      'rpc-sys upgrade_start': {},
    });
    await page.getByLabel('Firmware image').setInputFiles(image);
    await expect(page.getByText('The image is valid for this router.')).toBeVisible();
    const kept = page.getByLabel('Keep settings');
    await expect(kept).toBeChecked();
    if (!keep) await kept.click();
    await page.getByRole('button', { name: 'Flash and reboot' }).click();
    expect(asked).toEqual(['upload /tmp/firmware.bin', 'rpc-sys upgrade_test {}']);
    await dialog(page).getByRole('button', { name: 'Flash and reboot' }).click();
    await expect(page.getByText('The router is flashing the image')).toBeVisible();
    expect(asked.slice(2)).toEqual([`rpc-sys upgrade_start {"keep":${keep}}`]);
  });
}

test('a refused image is deleted and cannot be installed', async ({ page }) => {
  const asked = await controls(page, 'system', {
    'rpc-sys upgrade_test': { code: 1, stderr: 'not for this board' },
    'rpc-sys upgrade_clean': {},
  });
  await page.getByLabel('Firmware image').setInputFiles(image);
  await expect(page.getByText('Rejected by the router: not for this board')).toBeVisible();
  expect(asked.slice(1)).toEqual(['rpc-sys upgrade_test {}', 'rpc-sys upgrade_clean {}']);
  await expect(page.getByRole('button', { name: 'Flash and reboot' })).toHaveCount(0);
});

function archive(): { name: string; mimeType: string; buffer: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'backup-'));
  execFileSync('mkdir', ['-p', join(folder, 'etc/config')]);
  writeFileSync(join(folder, 'etc/config/network'), "config interface 'lan'\n");
  const file = join(folder, 'backup.tar.gz');
  execFileSync('tar', ['-C', folder, '-czf', file, 'etc']);
  return { name: 'backup.tar.gz', mimeType: 'application/gzip', buffer: readFileSync(file) };
}

for (const code of [0, 1]) {
  test(`after a restore with status ${code} the router reboots: ${code === 0}`, async ({
    page,
  }) => {
    const asked = await controls(page, 'system', {
      'file exec': { code, stderr: 'No space left on device' },
      'rpc-sys reboot': {},
    });
    await page.getByLabel('Restore from file').setInputFiles(archive());
    await expect(page.locator('[data-preview]')).toContainText('etc/config/network');
    await page.getByRole('button', { name: 'Restore and reboot' }).click();
    expect(asked).toEqual([]);
    await dialog(page).getByRole('button', { name: 'Restore and reboot' }).click();
    const words = code === 0 ? /^Restored\. The router is rebooting/ : /No space left on device/;
    await expect(page.getByText(words)).toBeVisible();
    const command = '{"command":"/sbin/sysupgrade",';
    expect(asked).toEqual([
      'upload /tmp/backup.tar.gz',
      `file exec ${command}"params":["--restore-backup","/tmp/backup.tar.gz"]}`,
      ...(code === 0 ? ['rpc-sys reboot {}'] : []),
    ]);
  });
}

test('only irreversible buttons look dangerous', async ({ page }) => {
  const colours = async (button: Locator) =>
    button.evaluate((each) => {
      const { color, backgroundColor } = getComputedStyle(each);
      return [color, backgroundColor];
    });
  await controls(page, 'protection', {});
  await page.getByRole('button', { name: 'Unblock 10.10.20.10' }).click();
  const harmless = dialog(page).getByRole('button', { name: 'Unblock' });
  await expect(dialog(page).locator('h2 .sign')).toHaveCount(0);
  const usual = await colours(harmless);
  await page.keyboard.press('Escape');
  await page.goto('#/system');
  const reboot = page.getByRole('button', { name: 'Reboot' });
  await expect(reboot).toBeVisible();
  const other = page.getByRole('button', { name: 'Download backup' });
  expect(await colours(reboot)).not.toEqual(await colours(other));
  await reboot.click();
  // The dialog is recognisable without colour.
  await expect(dialog(page).locator('h2 .sign')).toBeVisible();
  expect(await colours(dialog(page).getByRole('button', { name: 'Reboot' }))).not.toEqual(usual);
});
