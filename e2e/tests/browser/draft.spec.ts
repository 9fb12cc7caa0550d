// SPDX-License-Identifier: GPL-2.0-or-later
import type { Page } from '@playwright/test';
import { apply, applyDraft, diff, openReview, openSetup, review, waitConfirmed } from './change';
import { core, expect, test } from './fixture';

const screen = async (page: Page, name: string) => {
  const screens = page.getByRole('navigation', { name: 'Screens' });
  await screens.getByRole('link', { name, exact: true }).click();
  await expect(screens.getByRole('link', { name, exact: true })).toHaveAttribute(
    'aria-current',
    'page',
  );
};
const may = (page: Page, src: string, dest: string) =>
  page.getByLabel(`${src} may open connections to ${dest}`, { exact: true });
const applied = (page: Page) => page.getByRole('button', { name: 'Review and apply' });

test(
  'a review shows the edited values, also after a visit to another screen',
  core,
  async ({ page, router }) => {
    const before = await router.run('cat /etc/config/firewall');
    await openSetup(page, 'firewall');
    await may(page, 'wan', 'lan').check();
    await may(page, 'wan', 'the router').check();
    await expect(page.getByText('2 edits', { exact: true })).toBeVisible();

    await screen(page, 'Overview');
    await screen(page, 'Firewall');
    await expect(may(page, 'wan', 'lan')).toBeChecked();
    await expect(may(page, 'wan', 'the router')).toBeChecked();
    await expect(page.getByText('2 edits', { exact: true })).toBeVisible();

    await page.getByRole('button', { name: 'Discard' }).click();
    await expect(may(page, 'wan', 'lan')).not.toBeChecked();
    await expect(may(page, 'wan', 'the router')).not.toBeChecked();
    await expect(applied(page)).toBeHidden();

    await may(page, 'iot', 'mgmt').check();
    await expect(page.getByText('1 edit', { exact: true })).toBeVisible();
    const lines = (await openReview(page)).join('\n');
    expect(lines).toContain('iot');
    expect(lines).toContain('mgmt');
    expect(lines).not.toContain('wan');
    await review(page).getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect(applied(page)).toBeHidden();
    expect(await router.run('cat /etc/config/firewall')).toBe(before);
  },
);

test('edits of all screens are one draft, reviewed on any of them', core, async ({ page }) => {
  await openSetup(page, 'firewall');
  await may(page, 'iot', 'mgmt').check();
  await screen(page, 'Internet');
  await page.getByRole('textbox', { name: 'MTU', exact: true }).fill('1480');
  await expect(page.getByText('2 edits', { exact: true })).toBeVisible();

  await screen(page, 'Overview');
  await page.getByRole('button', { name: '2 edits to review' }).click();
  await expect(applied(page)).toBeFocused();
  const lines = (await openReview(page)).join('\n');
  expect(lines).toContain('mgmt');
  expect(lines).toContain('1480');
  const text = review(page);
  await expect(text.getByText('Forwarding iot → mgmt: added')).toBeVisible();
  await expect(text.getByText('Interface wan', { exact: true })).toBeVisible();
  await expect(text.locator('[data-access="granted"]')).toContainText('zone iot → zone mgmt');
  await expect(text.locator('[data-access="withdrawn"]')).toHaveCount(0);
  await text.getByRole('button', { name: 'Back' }).click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByRole('button', { name: 'edits to review' })).toBeHidden();
  await screen(page, 'Firewall');
  await expect(may(page, 'iot', 'mgmt')).not.toBeChecked();
});

test('several changes are undone in one step', async ({ page, router }) => {
  const files = () => router.run("sed '/^$/d' /etc/config/firewall /etc/config/network");
  const before = await files();
  await openSetup(page, 'firewall');
  for (const dest of ['mgmt', 'lan']) {
    await may(page, 'iot', dest).check();
    await applyDraft(page);
    await page.getByRole('button', { name: 'Dismiss' }).click();
  }
  await screen(page, 'System');
  const older = page.locator('details[data-change]').nth(1);
  await older.locator('> summary').click();
  await expect(older.locator('> summary')).toContainText('Forwarding iot → mgmt: added');
  await older.getByRole('button', { name: 'Undo to here' }).click();
  await openReview(page);
  await expect(review(page).locator('[data-access="withdrawn"] li')).toHaveCount(2);
  await apply(page);
  await waitConfirmed(page);
  expect(await files()).toBe(before);
});

test('edits discarded during the check are not reviewed', async ({ page }) => {
  await openSetup(page, 'firewall');
  let answer: () => void = () => undefined;
  const discarded = new Promise<void>((done) => (answer = done));
  let checks = 0;
  await page.route('**/ubus', async (route) => {
    if (!route.request().postData()?.includes('"fastpath.change","check"')) return route.fallback();
    checks += 1;
    await discarded;
    return route.fallback();
  });
  await may(page, 'iot', 'mgmt').check();
  await applied(page).click();
  await expect.poll(() => checks).toBe(1);
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(may(page, 'iot', 'mgmt')).not.toBeChecked();
  await may(page, 'iot', 'lan').check();
  answer();
  await expect(review(page)).toBeVisible();
  expect(checks).toBe(2);
  const lines = (await diff(page)).join('\n');
  expect(lines).toContain('lan');
  expect(lines).not.toContain('mgmt');
});

test('edited policies survive a visit to another screen', async ({ page, router }) => {
  const before = await router.run('cat /etc/config/fastpath');
  await openSetup(page, 'protection?part=policy');
  const add = page.getByRole('button', { name: 'Add policy' });
  const changes = page.getByText('1 edit', { exact: true });
  await add.click();
  await expect(changes).toBeVisible();
  await screen(page, 'Overview');
  await screen(page, 'Protection');
  await page.getByRole('link', { name: 'Policies', exact: true }).click();
  await expect(changes).toBeVisible();
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(changes).toBeHidden();
  await add.click();
  await expect(changes).toBeVisible();
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(changes).toBeHidden();
  expect(await router.run('cat /etc/config/fastpath')).toBe(before);
});
