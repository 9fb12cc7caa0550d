// SPDX-License-Identifier: GPL-2.0-or-later
/** Tasks of an administrator, independent of keyboard or touch. */

import type { Locator, Page } from '@playwright/test';
import { cell, CHANGE_MS, membership, review, waitConfirmed } from './change';
import { expect } from './fixture';
import type { Input } from './hands';
import { hosts, type Lab, type Lan, type Router } from './lab';

export interface Place {
  page: Page;
  router: Router;
  lan: Lan;
  lab: Lab;
}

export interface Task {
  title: string;
  inspected?: boolean;
  prepare?: (place: Place) => Promise<void>;
  perform: (input: Input, place: Place) => Promise<void>;
}

/** Timeout of a doctor run on an emulated machine. */
const DOCTOR_MS = 180_000;

/** Opens the review, consents to all exposures, and applies until the change is confirmed. */
export async function applied(input: Input, page: Page): Promise<void> {
  await input.press(page.getByRole('button', { name: 'Review and apply' }));
  await expect(review(page)).toBeVisible({ timeout: CHANGE_MS });
  const consents = review(page).locator('[data-exposes]').getByRole('checkbox');
  for (const consent of await consents.all()) await input.tick(consent);
  await input.press(review(page).getByRole('button', { name: 'Apply', exact: true }));
  await waitConfirmed(page);
}

async function expand(input: Input, details: Locator): Promise<void> {
  await expect(details).toBeVisible({ timeout: CHANGE_MS });
  const isOpen = () => details.evaluate((each) => (each as HTMLDetailsElement).open);
  if (!(await isOpen())) await input.press(details.locator('> summary'));
  expect(await isOpen()).toBe(true);
}

const vlan: Task = {
  title: 'add a guest VLAN',
  perform: async (input, { page, router }) => {
    await input.go('Network');
    await input.press(page.getByRole('button', { name: 'Add VLAN' }));
    const form = page.getByRole('form', { name: 'New VLAN' });
    await expect(form.getByLabel('VLAN ID')).toBeFocused();
    await input.write(form.getByLabel('VLAN ID'), '30');
    await input.write(form.getByLabel('Name'), 'guest');
    await input.write(form.getByLabel('Router address'), '10.10.30.1/24');
    await input.press(form.getByRole('button', { name: 'Add VLAN' }));
    await input.choose(cell(page, 'lan3', 30), membership(page, 'lan3', 30, 'untagged'));
    await expect(page.locator('[data-leaves="10"]')).toHaveText('leaves VLAN 10');
    await expect(cell(page, 'lan3', 30)).toHaveAttribute('data-member', 'u*');
    await applied(input, page);
    const members = () => router.run('bridge vlan show dev lan3');
    await expect.poll(members).toMatch(/30 PVID Egress Untagged/);
    expect(await router.run('ip -4 addr show br-lan.30')).toContain('10.10.30.1/24');
    expect(await router.run('nft list table inet fw4')).toContain('guest');
  },
};

const release: Task = {
  title: 'release an address that an alert has blocked',
  inspected: true,
  prepare: async ({ router, lan, lab }) => {
    await lab.verb('protect_inline', "\toption block '1'\n\toption block_time '900'");
    await lan.reachesInternet();
    await lan.badPage();
    await expect
      .poll(() => router.ask('blocks'))
      .toMatchObject({ blocks: [{ address: hosts.isp }] });
  },
  perform: async (input, { page, router }) => {
    await input.go('Protection');
    await input.press(page.getByRole('button', { name: `Unblock ${hosts.isp}` }));
    const dialog = page.getByRole('dialog', { name: `Unblock ${hosts.isp}?` });
    await input.press(dialog.getByRole('button', { name: 'Unblock' }));
    await expect(page.getByText(`${hosts.isp} is unblocked.`)).toBeVisible();
    expect(await router.ask('blocks')).toMatchObject({ blocks: [] });
  },
};

const undo: Task = {
  title: 'undo a change',
  perform: async (input, { page, router }) => {
    const rules = () => router.run("sed '/^$/d' /etc/config/firewall");
    const before = await rules();
    await input.go('Firewall');
    await input.tick(page.getByLabel('iot may open connections to mgmt', { exact: true }));
    await applied(input, page);
    expect(await rules()).not.toBe(before);
    await input.press(page.getByRole('button', { name: 'Dismiss' }));
    await input.go('System');
    const last = page.locator('details[data-change]').first();
    await expand(input, last);
    await input.press(last.getByRole('button', { name: 'Undo this change' }));
    await applied(input, page);
    expect(await rules()).toBe(before);
  },
};

const setting: Task = {
  title: 'find a setting by search',
  perform: async (input, { page, router }) => {
    await input.search('first packets', /^First packets on the slow path/);
    const field = page.getByLabel('First packets on the slow path');
    await expect(field).toBeFocused();
    await input.write(field, '24');
    await applied(input, page);
    expect(await router.run('cat /etc/config/fastpath')).toMatch(/option\s+slow_packets\s+'?24/);
  },
};

const accept: Task = {
  title: 'accept a finding of the doctor',
  prepare: async ({ router }) => {
    await router.run('echo 432000 >/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established');
  },
  perform: async (input, { page, router }) => {
    await input.go('Health');
    await input.press(page.getByRole('button', { name: 'Run checks again' }));
    const finding = page.locator('details[data-finding="conntrack-timeout"]');
    await expect(finding).toBeVisible({ timeout: DOCTOR_MS });
    await expand(input, finding);
    await input.press(finding.getByRole('button', { name: 'Accept', exact: true }));
    await applied(input, page);
    await expect(page.locator('[data-group=accepted]')).toContainText('1 accepted finding');
    expect(await router.run('cat /etc/config/fastpath')).toContain('conntrack-timeout');
  },
};

const engine: Task = {
  title: 'switch the engine',
  perform: async (input, { page, router }) => {
    await input.go('Overview');
    const choice = page.getByRole('group', { name: 'Engine' });
    await input.press(choice.getByRole('button', { name: 'Off', exact: true }));
    await expect(page.getByText('Switched to Off.')).toBeVisible();
    expect(await router.engine()).toMatchObject({ active: 'off', wanted: 'off' });
    await input.press(choice.getByRole('button', { name: 'Flowtable', exact: true }));
    await expect(page.getByText('Switched to Flowtable.')).toBeVisible();
    expect(await router.engine()).toMatchObject({ active: 'flowtable', wanted: 'flowtable' });
  },
};

const exclusion: Task = {
  title: 'keep a host off the fast path',
  perform: async (input, { page, lan, lab }) => {
    const port = await lan.download(hosts.h20);
    const flow = ['--proto', 'tcp', '--text', `${port}`];
    await lab.verb('soon', '10', 'on_path', 'flowtable', ...flow);
    await input.go('Fast path');
    await input.press(page.getByRole('button', { name: 'Add exclusion' }));
    const form = page.locator('[data-exclude]').last();
    await expect(form.getByRole('textbox', { name: 'Name' })).toBeFocused();
    await input.write(form.getByRole('textbox', { name: 'Name' }), 'h10');
    await input.write(form.getByRole('textbox', { name: 'Source' }), hosts.h10);
    await applied(input, page);
    await lab.verb('soon', '20', 'on_path', 'slow/excluded', ...flow);
  },
};

/** Tasks of an administrator, beside those of an owner. */
export const tasks: readonly Task[] = [vlan, release, undo, setting, accept, engine, exclusion];
