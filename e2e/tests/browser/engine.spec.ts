// SPDX-License-Identifier: GPL-2.0-or-later
import { core, expect, open, test } from './fixture';

test('switching the engine on the page switches the router', core, async ({ page, router }) => {
  await open(page, 'overview');
  const choice = page.getByRole('group', { name: 'Engine' });
  const off = choice.getByRole('button', { name: 'Off' });
  const flowtable = choice.getByRole('button', { name: 'Flowtable' });
  await expect(flowtable).toHaveAttribute('aria-pressed', 'true');
  await off.click();
  await expect(page.getByText('Switched to Off.')).toBeVisible();
  await expect(off).toHaveAttribute('aria-pressed', 'true');
  expect(await router.engine()).toMatchObject({ active: 'off', wanted: 'off', source: 'command' });
  await flowtable.click();
  await expect(page.getByText('Switched to Flowtable.')).toBeVisible();
  expect(await router.engine()).toMatchObject({ active: 'flowtable', wanted: 'flowtable' });
});

test('an engine switched on the router is shown on the page', async ({ page, router }) => {
  await open(page, 'overview');
  const choice = page.getByRole('group', { name: 'Engine' });
  await router.run('fastpathctl engine off');
  await expect(choice.getByRole('button', { name: 'Off' })).toHaveAttribute('aria-pressed', 'true');
  await expect(page.getByText('On no port')).toBeVisible();
});

test('a refused hardware offload shows the router’s message', async ({ page, router }) => {
  await open(page, 'overview');
  const choice = page.getByRole('group', { name: 'Engine' });
  await choice.getByRole('button', { name: 'Hardware' }).click();
  await expect(page.getByText(/Switching failed: nft rejected the rules: .+/)).toBeVisible();
  await expect(choice.getByRole('button', { name: 'Flowtable' })).toHaveAttribute(
    'aria-pressed',
    'true',
  );
  expect(await router.engine()).toMatchObject({ active: 'flowtable', wanted: 'flowtable-hw' });
  await choice.getByRole('button', { name: 'Flowtable' }).click();
  await expect(page.getByText('Switched to Flowtable.')).toBeVisible();
  expect(await router.engine()).toMatchObject({ active: 'flowtable', wanted: 'flowtable' });
});

test('the viewer sees the engine and cannot switch it', async ({ page, router }) => {
  await open(page, 'overview', 'viewer');
  await expect(page.getByRole('heading', { name: 'Engine' })).toBeVisible();
  await expect(page.getByText('Flowtable', { exact: true }).first()).toBeVisible();
  await expect(page.getByRole('group', { name: 'Engine' })).toHaveCount(0);
  expect(await router.engine()).toMatchObject({ active: 'flowtable' });
});
