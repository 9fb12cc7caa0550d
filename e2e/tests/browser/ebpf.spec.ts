// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { userMode } from '../labs';
import { violations } from './axe';
import { applyDraft } from './change';
import { core, expect, open, rowOf, test } from './fixture';
import { hosts, type Router } from './lab';

/** Ports of the gateway: virtio with native XDP, or virtual in a user-mode lab. */
const ports = ['lan1', 'lan2', 'lan3', 'mgmt', 'wan'] as const;

const engines = (page: Page) => page.getByRole('group', { name: 'Engine' });
const programs = (page: Page) => page.getByRole('region', { name: 'eBPF programs' });
const exits = (page: Page) => page.getByRole('region', { name: 'Packet verdicts' });

interface Ebpf {
  devices: { device: string; hook: string; why: string }[];
  seen: number;
}

async function hooksOf(router: Router): Promise<string[]> {
  const { devices } = (await router.ask('ebpf')) as Ebpf;
  return ports.map((port) => devices.find((each) => each.device === port)?.hook ?? '');
}

async function configure(router: Router, hook: string): Promise<void> {
  const edits = ['s/option engine .*/option engine ebpf/', `s/option hook .*/option hook ${hook}/`];
  const words = edits.map((each) => `-e '${each}'`).join(' ');
  await router.run(`sed -i ${words} /etc/config/fastpath && /etc/init.d/fastpathd reload`);
}

async function chooseEbpf(page: Page): Promise<void> {
  await engines(page).getByRole('button', { name: 'eBPF' }).click();
  await expect(page.getByText('Switched to eBPF.')).toBeVisible();
}

test(
  'eBPF chosen on the page offloads flows, and a switch back is shown',
  core,
  async ({ page, lan, router }) => {
    await open(page, 'overview');
    await expect(programs(page)).toHaveCount(0);
    await chooseEbpf(page);
    // The page waits until the programs are attached, so the router reports them at once.
    expect(await router.engine()).toMatchObject({ active: 'ebpf', wanted: 'ebpf' });
    const table = programs(page).getByRole('table');
    const [hook, why] = userMode()
      ? ['TCX', 'is virtual: its packets may have incomplete checksums']
      : ['Native XDP', 'supported by all port drivers'];
    for (const port of ports) {
      const row = table
        .getByRole('row')
        .filter({ has: page.getByRole('rowheader', { name: port }) });
      await expect(row).toContainText(hook);
      await expect(row).toContainText(why);
    }
    const port = await lan.download(hosts.isp, '2M');
    await expect(page.locator('tr[data-path="ebpf"]')).toContainText(/[1-9][\d.]* [kM]bit\/s/);
    const forwarded = exits(page).locator('[data-exit="forwarded"]');
    await expect(forwarded.getByRole('rowheader')).toContainText('Rewritten and sent');
    await expect(forwarded.getByRole('cell').last()).toContainText(/[1-9][\d,]* \/s/);
    await expect(exits(page)).toContainText(/[1-9][\d.]*% forwarded/);
    await expect(exits(page).locator('[data-exit="unknown"]')).toContainText(
      'The flow has no entry',
    );
    expect(await violations(page)).toEqual([]);

    await page.goto('#/flows?path=ebpf');
    await expect(rowOf(page, port)).toContainText('eBPF');
    await page.goto('#/topology');
    await expect(
      page.getByRole('img', { name: /in the fast path: .*lan1, lan2, lan3/ }),
    ).toBeVisible();
    for (const each of ports) {
      await expect(page.locator(`[data-device="${each}"]`)).toContainText('eBPF program');
    }
    expect(await violations(page)).toEqual([]);

    await page.goto('#/overview');
    await expect(programs(page)).toBeVisible();
    await router.run('fastpathctl engine flowtable');
    await expect(engines(page).getByRole('button', { name: 'Flowtable' })).toHaveAttribute(
      'aria-pressed',
      'true',
    );
    await expect(programs(page)).toHaveCount(0);
    await page.goto('#/flows?text=10.10.10.10');
    await expect(rowOf(page, port)).toContainText('Flowtable');
  },
);

test('the hook is chosen in the settings, and the overview shows it', async ({ page, router }) => {
  await configure(router, 'auto');
  await page.setViewportSize({ width: 320, height: 640 });
  await open(page, 'overview');
  await programs(page).getByRole('link', { name: 'Hook setting' }).click();
  const hook = page.getByRole('combobox', { name: 'eBPF hook' });
  await hook.selectOption('Generic XDP');
  await expect(hook).toHaveAccessibleDescription(/about a third more CPU/);
  await applyDraft(page);
  expect(await hooksOf(router)).toEqual(ports.map(() => 'xdp-generic'));
  await page.goto('#/overview');
  await expect(programs(page).locator('[data-hook="xdp-generic"]')).toHaveCount(ports.length);
  expect(await violations(page)).toEqual([]);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(320);
});

/** Runs `body` while another XDP program occupies these ports. */
async function occupy(router: Router, used: readonly string[], body: () => Promise<void>) {
  const pass = '/sys/fs/bpf/fastpath/none/fastpath_pass';
  const each = (words: string) => used.map((port) => `ip link set ${port} ${words}`).join(' && ');
  await router.run(each(`xdpgeneric pinned ${pass}`));
  try {
    await body();
  } finally {
    await router.run(each('xdpgeneric off'));
  }
}

test(
  'a port that refuses the hook stays in the flowtable',
  { tag: '@long' },
  async ({ page, router }) => {
    await configure(router, 'tcx');
    await open(page, 'overview');
    await expect(programs(page).locator('[data-hook="tcx"]')).toHaveCount(ports.length);
    // A port cannot have native and generic programs at the same time.
    await occupy(router, ['wan'], async () => {
      await configure(router, 'xdp-generic');
      const bare = programs(page).locator('[data-hook=""]');
      await expect(bare.getByRole('rowheader')).toHaveText('wan');
      await expect(bare).toContainText('none (flowtable)');
      await expect(bare).toContainText('attaching to device');
      await expect(page.locator('[data-code="ebpf-partly"]')).toContainText('wan: attaching');
      await page.goto('#/topology');
      await expect(page.locator('[data-device="wan"]')).toContainText('In the flowtable');
      await expect(page.locator('[data-device="lan1"]')).toContainText('eBPF program');
    });
  },
);

test('without the eBPF package the page reports the flowtable as fallback', async ({
  page,
  router,
}) => {
  const loader = '/usr/libexec/fastpath-bpf';
  await router.run(`mv ${loader} ${loader}.away`);
  try {
    await open(page, 'overview');
    await engines(page).getByRole('button', { name: 'eBPF' }).click();
    const missing = 'the package fastpathd-ebpf is not installed';
    await expect(page.getByText(`Switching failed: ${missing}`)).toBeVisible();
    await expect(programs(page)).toContainText(`No port has an eBPF program: ${missing}`);
    await expect(exits(page)).toHaveCount(0);
    expect(await router.engine()).toMatchObject({ active: 'flowtable', wanted: 'ebpf' });
    await expect(page.locator('[data-code="flowtable-differs"]')).toContainText(missing);
    expect(await violations(page)).toEqual([]);
  } finally {
    await router.run(`mv ${loader}.away ${loader}`);
  }
});
