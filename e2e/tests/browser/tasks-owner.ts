// SPDX-License-Identifier: GPL-2.0-or-later
/**
 * The thirteen tasks of an owner, with the clicks of the best rival. A field counts as a click.
 * Where no rival is better, the number is our own.
 */

import { readFile } from 'node:fs/promises';
import type { Locator, Page, Route } from '@playwright/test';
import { cell, CHANGE_MS, membership, waitConfirmed } from './change';
import { expect, rowOf } from './fixture';
import type { Input } from './hands';
import { hosts } from './lab';
import { applied, type Task } from './tasks';

/** Timeout of a rule update: Suricata reads its rules again. */
const RULES_MS = 240_000;
const SID = 8_100_001;

/** Checks the clicks so far: at most one more than the best rival needs. */
const asFew = (input: Input, best: number) =>
  expect(input.clicks, `clicks, at most ${best} + 1`).toBeLessThanOrEqual(best + 1);

const device = (page: Page) => page.getByRole('link', { name: /^h10/ });
const rows = (page: Page, name: string) =>
  page.getByRole('region', { name }).getByRole('row').filter({ hasText: 'h10' });

const now: Task = {
  title: 'see who uses the line now',
  prepare: async ({ lan }) => {
    await lan.download(hosts.isp);
  },
  perform: async (input, { page }) => {
    await expect(rows(page, 'Top hosts')).toContainText(/[1-9][\d.]* [kM]bit\/s/);
    asFew(input, 0);
  },
};

const today: Task = {
  title: 'see who used the line today',
  prepare: async ({ lan }) => {
    await lan.download(hosts.isp, '1m');
  },
  perform: async (input, { page }) => {
    await input.go('Devices');
    const used = rows(page, 'All devices').locator('.today');
    await expect(used).toContainText(/[1-9][\d.]* [kMG]B/, { timeout: CHANGE_MS });
    asFew(input, 1);
  },
};

const why: Task = {
  title: 'find why a flow is slow',
  prepare: async ({ router }) => {
    await router.run(
      `printf '\\nconfig exclude\\n\\toption dest 203.0.113.0/24\\n' >>/etc/config/fastpath
      /etc/init.d/fastpathd reload`,
    );
  },
  perform: async (input, { page, lan, lab }) => {
    const port = await lan.download(hosts.isp);
    await lab.verb('soon', '10', 'on_path', 'slow/excluded', '--proto', 'tcp', '--text', `${port}`);
    await input.go('Flows');
    await input.press(rowOf(page, port).getByRole('button'));
    asFew(input, 2);
    const panel = page.getByRole('complementary', { name: /^Flow/ });
    await expect(panel).toContainText('Excluded by configuration');
    await expect(panel).toContainText(
      'An exclusion or a switch under “Traffic types” keeps this flow',
    );
  },
};

const protection: Task = {
  title: 'see what the router blocked in the last day',
  inspected: true,
  prepare: async ({ lan, lab }) => {
    await lab.verb('protect_inline');
    await lan.reachesInternet();
    await lan.badPage();
  },
  perform: async (input, { page }) => {
    await input.go('Protection');
    await expect(page.locator('[data-ips]')).toHaveText(/Inline/);
    const alerts = page.getByRole('region', { name: 'Alerts', exact: true });
    await expect(alerts.getByRole('slider', { name: 'Alerts, 24 h' })).toHaveAttribute(
      'aria-valuetext',
      /[1-9]\d* blocked/,
      { timeout: CHANGE_MS },
    );
    asFew(input, 1);
  },
};

const falseAlarm: Task = {
  title: 'stop one false alarm',
  inspected: true,
  prepare: async ({ lan, lab }) => {
    await lab.verb('protect_inline');
    await lan.reachesInternet();
    await lan.badPage();
    expect(await lan.badBytes()).toBe('0 0');
  },
  perform: async (input, { page, lan, router }) => {
    await input.go('Protection');
    const alert = page.getByRole('list', { name: 'Alerts' }).getByRole('listitem').first();
    await input.press(alert.getByRole('button'));
    await input.press(page.getByRole('button', { name: `Disable rule ${SID}` }));
    // Three by touch, too: the bar has an entry of its own for Protection.
    asFew(input, 2);
    await waitConfirmed(page);
    expect(await router.run('cat /etc/config/fastpath')).toContain(`list disable '${SID}'`);
    const passes = async () => {
      await lan.badPage();
      return lan.badBytes();
    };
    await expect.poll(passes, { timeout: RULES_MS }).not.toBe('0 0');
  },
};

const pause: Task = {
  title: 'pause a device for an hour and resume it',
  prepare: ({ lan }) => lan.reachesInternet(),
  perform: async (input, { page, router }) => {
    const file = () => router.run('cat /etc/config/fastpath');
    await input.go('Devices');
    await input.press(device(page));
    await input.press(page.getByRole('button', { name: 'Pause 1 h' }));
    await expect(page.getByText(/^Paused until \d\d:\d\d\.$/)).toBeVisible();
    asFew(input, 2);
    const until = /^\s*option\s+paused_until\s+'\d{10}'/m;
    expect(await file()).toMatch(until);
    await input.press(page.getByRole('button', { name: 'Resume' }));
    await expect(page.getByText('Resumed.')).toBeVisible();
    expect(await file()).not.toMatch(until);
  },
};

const reserve: Task = {
  title: 'reserve the address of a device',
  prepare: ({ lan }) => lan.reachesInternet(),
  perform: async (input, { page, router }) => {
    await input.go('Devices');
    await input.press(device(page));
    await input.press(page.getByRole('button', { name: `Reserve ${hosts.h10}` }));
    asFew(input, 2);
    await waitConfirmed(page);
    expect(await router.run('cat /etc/config/dhcp')).toContain(`option ip '${hosts.h10}'`);
    await expect(page.getByRole('button', { name: `${hosts.h10} is reserved` })).toBeVisible();
  },
};

const forward: Task = {
  title: 'forward a port to a device',
  prepare: ({ lan }) => lan.reachesInternet(),
  perform: async (input, { page, router }) => {
    await input.go('Devices');
    await input.press(device(page));
    await input.press(page.getByRole('button', { name: 'Forward a port' }));
    const form = page.locator('details[open][data-forward]');
    await input.write(form.getByLabel('External port'), '3074');
    await applied(input, page);
    asFew(input, 6);
    const rules = await router.run('nft list table inet fw4');
    expect(rules).toMatch(/tcp dport 3074 .*dnat ip to 10\.10\.10\.10:3074/);
  },
};

const guests: Task = {
  title: 'give guests a network',
  perform: async (input, { page, router }) => {
    await input.go('Network');
    await input.press(page.getByRole('button', { name: 'Add guest network' }));
    await input.choose(cell(page, 'lan3', 30), membership(page, 'lan3', 30, 'untagged'));
    await applied(input, page);
    asFew(input, 5);
    expect(await router.run('bridge vlan show dev lan3')).toMatch(/30 PVID Egress Untagged/);
    expect(await router.run('ip -4 addr show br-lan.30')).toContain('10.10.30.1/24');
    expect(await router.run('nft list table inet fw4')).toContain('guest');
  },
};

const password: Task = {
  title: 'change the PPPoE password',
  perform: async (input, { page, router }) => {
    await input.go('Internet');
    await input.write(page.getByLabel('Password', { exact: true }), 'another-1');
    await applied(input, page);
    asFew(input, 4);
    await expect(page.locator('[data-line=up]')).toContainText(/^\s*Connected for/);
    expect(await router.run('cat /etc/config/network')).toContain(`option password 'another-1'`);
  },
};

const night: Task = {
  title: 'see what happened at night',
  prepare: async ({ router, lab }) => {
    const went = async () => JSON.stringify(await router.ask('journal')).includes('wan-down');
    if (await went()) return;
    await router.cutPppoe();
    await expect.poll(went, { timeout: CHANGE_MS }).toBe(true);
    await lab.verb('wait_for', '120', 'internet');
  },
  perform: async (input, { page }) => {
    const chart = page.getByRole('region', { name: 'Throughput by path' });
    await input.press(chart.getByRole('button', { name: '24 h' }));
    await expect(chart.locator('[data-event=wan-down]').first()).toContainText(
      'wan: connection lost',
      { timeout: CHANGE_MS },
    );
    asFew(input, 1);
  },
};

const calls: Task = {
  title: 'keep video calls from stuttering',
  perform: async (input, { page, router }) => {
    await input.go('Internet');
    await input.tick(page.getByRole('checkbox', { name: 'Keep latency low' }));
    await input.write(page.getByLabel('Download, kbit/s'), '50000');
    await input.write(page.getByLabel('Upload, kbit/s'), '10000');
    await applied(input, page);
    asFew(input, 6);
    await expect(page.locator('[data-latency=active]')).toBeVisible({ timeout: CHANGE_MS });
    expect(await router.run('tc qdisc show')).toMatch(/cake .* bandwidth 10Mbit/);
  },
};

/** Answers calls that would replace files of the router or restart it. */
async function withoutReboot(page: Page, asked: string[]): Promise<void> {
  await page.route('**/ubus', (route: Route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const call = `${String(params[1])} ${String(params[2])}`;
    const held = ['file exec', 'rpc-sys reboot', 'rpc-sys upgrade_test', 'rpc-sys upgrade_start'];
    if (!held.includes(call)) return route.fallback();
    asked.push(call);
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, { code: 0 }] } });
  });
}

async function choose(input: Input, page: Page, field: Locator, file: Buffer): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await input.press(field);
  const upload = { name: 'file', mimeType: 'application/octet-stream', buffer: file };
  await (await chooser).setFiles(upload);
}

const archive: Task = {
  title: 'back up, restore and upgrade',
  perform: async (input, { page }) => {
    const asked: string[] = [];
    await withoutReboot(page, asked);
    const confirm = async (name: string) => {
      await input.press(page.getByRole('button', { name }));
      await input.press(page.getByRole('dialog').getByRole('button', { name }));
    };
    await input.go('System');
    const download = page.waitForEvent('download');
    await input.press(page.getByRole('button', { name: 'Download backup' }));
    const saved = await readFile(await (await download).path());
    asFew(input, 2);

    let before = input.clicks - 1;
    await choose(input, page, page.getByLabel('Restore from file'), saved);
    await expect(page.locator('[data-preview]')).toContainText('etc/config/network');
    await confirm('Restore and reboot');
    await expect.poll(() => asked).toEqual(['file exec', 'rpc-sys reboot']);
    expect(input.clicks - before, 'clicks of a restore').toBeLessThanOrEqual(4 + 1);

    before = input.clicks - 1;
    await choose(input, page, page.getByLabel('Choose firmware image'), Buffer.from('an image'));
    await confirm('Flash and reboot');
    await expect
      .poll(() => asked.slice(2))
      .toEqual(['rpc-sys upgrade_test', 'rpc-sys upgrade_start']);
    expect(input.clicks - before, 'clicks of an upgrade').toBeLessThanOrEqual(4 + 1);
  },
};

export const ownerTasks: readonly Task[] = [
  now,
  today,
  why,
  protection,
  falseAlarm,
  pause,
  reserve,
  forward,
  guests,
  password,
  night,
  calls,
  archive,
];
