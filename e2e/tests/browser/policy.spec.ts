// SPDX-License-Identifier: GPL-2.0-or-later
import type { Locator, Page } from '@playwright/test';
import { violations } from './axe';
import { changeState, openReview, review } from './change';
import { core, expect, live, logIn, test } from './fixture';

/** Timeout until the daemon has applied a configuration and the page shows it. */
const APPLIED_MS = 180_000;

type Part = 'policy' | 'rules';

async function openPart(page: Page, part: Part): Promise<void> {
  await page.goto(`#/protection?part=${part}`);
  await logIn(page);
  await live(page);
}

const policy = (page: Page, name: string) => page.getByRole('row', { name, exact: true });
const control = (row: Locator, column: string) => row.getByLabel(new RegExp(`: ${column}$`));

/** Expects these lines in the review, applies the draft and waits for the confirmation. */
async function apply(page: Page, ...lines: string[]): Promise<void> {
  const reviewed = (await openReview(page)).join('\n');
  for (const line of lines) expect(reviewed).toContain(line);
  await review(page).getByRole('button', { name: 'Apply', exact: true }).click();
  await expect(changeState(page, 'kept')).toBeVisible({ timeout: APPLIED_MS });
  await changeState(page, 'kept').getByRole('button', { name: 'Dismiss' }).click();
}

const two = `
config policy
	option name 'first'
	option src 'lan'
	option dest 'iot'
	option action 'none'

config policy
	option name 'second'
	option src 'lan'
	option dest 'wan'`;

test('a policy added on the page reaches UCI and the kernel', core, async ({ page, router }) => {
  await router.inspectInline(two);
  await openPart(page, 'policy');
  await page.getByRole('button', { name: 'Add policy' }).click();
  await page.keyboard.type('cameras');
  const cameras = policy(page, '3. cameras');
  await control(cameras, 'From').selectOption({ label: 'iot (VLAN 20)' });
  await control(cameras, 'To').selectOption({ label: 'wan' });
  await control(cameras, 'Action').selectOption('always');
  await page.getByLabel('Budget per connection, bytes').fill('2 MiB');
  expect(await violations(page)).toEqual([]);
  await apply(
    page,
    'budget_bytes: (not set) → 2097152',
    'cameras added (policy)',
    'cameras.action: (not set) → always',
    'cameras.src: (not set) → iot',
    'cameras.src_vlan: (not set) → 20',
    'cameras.dest: (not set) → wan',
  );
  const file = await router.run('cat /etc/config/fastpath');
  expect(file).toMatch(/option\s+budget_bytes\s+'2097152'/);
  expect(file).toMatch(/option\s+name\s+'cameras'/);
  expect(await router.ask('ips')).toMatchObject({
    policy: {
      budget_bytes: 2_097_152,
      policies: [
        { name: 'first' },
        { name: 'second' },
        { name: 'cameras', src: 'iot', src_vlan: 20, dest: 'wan', dest_vlan: 0, action: 'always' },
      ],
    },
  });
  expect(await router.run('nft list table inet fastpath')).toContain('cameras');
  await policy(page, '1. first').getByRole('button', { name: 'Move first down' }).focus();
  await page.keyboard.press('Enter');
  await expect(page.getByText('first is now 2 of 3.')).toBeAttached();
  await expect(page.getByRole('button', { name: 'Move first down' })).toBeFocused();
  await apply(page, 'fastpath: order changed');
  expect(await router.ask('ips')).toMatchObject({
    policy: { policies: [{ name: 'second' }, { name: 'first' }, { name: 'cameras' }] },
  });
});

test('policies are shown; a refused value is reported at its field and not applied', async ({
  page,
  router,
}) => {
  await router.inspectInline(two);
  await openPart(page, 'policy');
  await expect(control(policy(page, '1. first'), 'Action')).toHaveValue('none');
  await expect(control(policy(page, '2. second'), 'Action')).toHaveValue('inspect');
  await expect(page.getByLabel('Intrusion prevention')).toBeChecked();
  const name = control(policy(page, '1. first'), 'Name');
  await name.fill('a "quoted" name');
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(page.getByText(/^1 invalid value:/)).toBeVisible({ timeout: APPLIED_MS });
  const field = control(page.getByRole('row', { name: /quoted/ }), 'Name');
  await expect(field).toHaveAttribute('aria-invalid', 'true');
  await expect(field).toHaveAccessibleDescription(/is not allowed in a name/);
  expect(await router.run('cat /etc/config/fastpath')).not.toContain('quoted');
  expect(await router.ask('ips')).toMatchObject({ policy: { policies: [{ name: 'first' }, {}] } });
  await field.fill('better');
  await apply(page, 'name: first → better');
  expect(await router.run('cat /etc/config/fastpath')).toContain('better');
});

const senseless = 'a faulty draft is not applied; switched off, nothing is inspected';
test(senseless, { tag: '@long' }, async ({ page, router }) => {
  await router.inspectInline();
  await openPart(page, 'policy');
  await page.getByLabel('Budget per connection, bytes').fill('-1');
  const budget = page.getByLabel('Budget per connection, bytes');
  await expect(budget).toHaveAccessibleDescription(/A size such as 1 MiB/);
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(page.getByText(/^1 invalid value:/)).toBeVisible({ timeout: APPLIED_MS });
  await expect(budget).toBeFocused();
  await expect(review(page)).toBeHidden();
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(budget).toHaveValue('1 MiB');
  const exempt = page.getByLabel('Never inspected');
  await exempt.fill('10.10.10.5\nthe');
  await page.getByRole('button', { name: 'Review and apply' }).click();
  const refusal = /“the” is not an address or a network/;
  await expect(exempt).toHaveAccessibleDescription(refusal, { timeout: APPLIED_MS });
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('link', { name: 'Status', exact: true }).click();
  await page.getByLabel('Intrusion prevention').uncheck();
  await apply(page, 'enabled: 1 → 0');
  await expect(page.locator('[data-ips]')).toHaveText(/Off/);
  expect(await router.ask('ips')).toMatchObject({ enabled: false, state: 'off' });
});

test('a source is added, fetched manually, and its rules are in force', async ({
  page,
  router,
  lab,
}) => {
  await router.inspectInline();
  await lab.verb('serve_archives');
  const sum = await lab.verb('peers', 'sha256sum /tmp/www/rules/good.tar.gz');
  await openPart(page, 'rules');
  await expect(page.getByText('No rule sources.')).toBeVisible();
  await page.getByLabel('Name of the new source').fill('lab');
  await page.getByRole('button', { name: 'Add source' }).click();
  const source = page.locator('[data-source="lab"]');
  await source.getByLabel('URL', { exact: true }).fill('http://203.0.113.1/rules/good.tar.gz');
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(source).toContainText('Add a checksum', { timeout: APPLIED_MS });
  await source.getByLabel('Verification').selectOption('sha256');
  await source.getByLabel('SHA-256 checksum').fill(sum.split(' ')[0] ?? '');
  await apply(page, 'lab added (rules)');
  await page.getByRole('button', { name: 'Update now' }).click();
  await expect(page.getByText(/^(Update started|An update is already running)/)).toBeVisible();
  await expect(source).toContainText('2 rules', { timeout: 90_000 });
  await expect(source).toContainText('OK');
  const rules = page.getByRole('region', { name: 'Rule set' });
  await expect(rules).toContainText('Up to date');
});

test(
  'a refused archive is reported with its reason, and the previous rules stay',
  { tag: '@fault:archive-syntax' },
  async ({ page, router, lab }) => {
    await lab.verb('serve_archives');
    const sum = await lab.verb('peers', 'sha256sum /tmp/www/rules/syntax.tar.gz');
    await router.inspectInline(`
config rules 'lab'
	option url 'http://203.0.113.1/rules/syntax.tar.gz'
	option sha256 '${sum.split(' ')[0] ?? ''}'`);
    await openPart(page, 'rules');
    const loaded = page.locator('[data-fact="loaded"]');
    const before = await loaded.innerText();
    await page.getByRole('button', { name: 'Update now' }).click();
    const rules = page.getByRole('region', { name: 'Rule set' });
    await expect(rules).toContainText('Last update failed', { timeout: 90_000 });
    await expect(page.locator('main')).toContainText(/mark\.rules/);
    await expect(loaded).toHaveText(before);
  },
);
