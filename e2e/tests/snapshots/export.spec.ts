// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { violations } from '../browser/axe';
import { CONFIGS, replay, resultOf, type Recording } from './replay';
import { entered, shown } from './screens';

test.use({ locale: 'en-GB' });

interface Section {
  section: string;
  anonymous: boolean;
  type: string;
  values: Record<string, string>;
  label: string;
}

const EXPORTS = 'fastpath exports {}';

function sectionsOf(answers: Recording['answers']): Section[] {
  return resultOf<{ configs: { fastpath: Section[] } }>(answers, CONFIGS).configs.fastpath;
}

function withoutCollectors(answers: Recording['answers']): void {
  const all = sectionsOf(answers);
  all.splice(0, all.length, ...all.filter(({ type }) => type !== 'export'));
  answers[EXPORTS] = { result: [0, { exports: [] }] };
}

interface Opened {
  checked: unknown[];
}

async function open(
  page: Page,
  edit: Parameters<typeof replay>[1] = undefined,
  problems: object[] = [],
): Promise<Opened> {
  const checked: unknown[] = [];
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page, edit);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const [, object, method, args] = params as [string, string, string, { edits: unknown }];
    if (object !== 'fastpath.change' || method !== 'check') return route.fallback();
    checked.push(args.edits);
    const answer = { problems, diff: [], cuts: [] };
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, answer] } });
  });
  await entered(page);
  await page.goto('#/export');
  await shown(page);
  return { checked };
}

const row = (page: Page, name: string) => page.locator(`tr[data-collector="${name}"]`);
const form = (page: Page, name: string) =>
  page.getByRole('region', { name: `Settings of ${name}` });
const review = (page: Page) => page.getByRole('button', { name: 'Review and apply' });

test('each collector shows its state, its records and its last failure', async ({ page }) => {
  await open(page);
  await expect(row(page, 'store')).toContainText(/10\.10\.10\.10:4739\s*IPFIX, UDP/);
  await expect(row(page, 'store').locator('[data-state=up]')).toHaveText(
    /^State\s*✓\s*Sending\s*since \d\d:\d\d:\d\d\s*$/,
  );
  await expect(row(page, 'store').locator('.sent')).toHaveText(/41/);
  await expect(row(page, 'archive').locator('[data-state=down]')).toContainText(
    /Unreachable\s*since .*nothing listens on the collector’s port/,
  );
  await expect(row(page, 'archive').locator('.queued')).toHaveText(/41/);
  await expect(row(page, 'lab').locator('[data-state=off]')).toContainText('Off');
  await expect(row(page, 'lab')).toContainText('[2001:db8:10::11]:4739');
});

test('stalled and inactive collectors are shown as such', async ({ page }) => {
  await open(page, (answers) => {
    const { result } = answers[EXPORTS] as { result: [number, { exports: object[] }] };
    const [store] = result[1].exports;
    const cause = { code: 'stalled', params: {} };
    result[1].exports = [{ ...store, cause, why: 'the collector does not read its messages' }];
  });
  const stalled = row(page, 'store').locator('[data-state=stalled]');
  await expect(stalled).toContainText('the collector does not read its messages');
  // The known time is that of the last connection, so no time is shown.
  await expect(stalled).not.toContainText('since');
  await expect(row(page, 'archive').locator('[data-state=unknown]')).toContainText('Not in force');
});

test('the empty screen explains collectors, and can add one', async ({ page }) => {
  const { checked } = await open(page, withoutCollectors);
  const panel = page.getByRole('region', { name: 'Collectors' });
  await expect(panel).toContainText('stores the history of all flows outside this router');
  await expect(panel.getByRole('table')).toHaveCount(0);
  await page.getByRole('button', { name: 'Add collector' }).click();
  await expect(form(page, 'collector').getByLabel('Name')).toBeFocused();
  const host = form(page, 'collector').getByLabel('Collector address');
  await host.pressSequentially('2001:db8::10');
  await expect(host).toBeFocused();
  await expect(host).toHaveValue('2001:db8::10');
  await expect(row(page, 'collector')).toContainText('[2001:db8::10]:4739');
  await expect(row(page, 'collector').locator('[data-state=new]')).toContainText('Not applied yet');
  await review(page).click();
  const values = { name: 'collector', host: '2001:db8::10' };
  await expect
    .poll(() => checked)
    .toEqual([[{ config: 'fastpath', op: 'add', type: 'export', id: 'new1', values }]]);
});

test('another collector gets a unique name and can be removed', async ({ page }) => {
  await open(page);
  const add = page.getByRole('button', { name: 'Add collector' });
  await add.click();
  await add.click();
  await expect(row(page, 'collector-2')).toBeVisible();
  await page.getByRole('button', { name: 'Remove collector-2', exact: true }).click();
  await expect(row(page, 'collector-2')).toHaveCount(0);
  await expect(add).toBeFocused();
  await page.getByRole('button', { name: 'Remove collector', exact: true }).click();
  await expect(review(page)).toHaveCount(0);
});

test('values out of range are refused at their fields', async ({ page }) => {
  await open(page);
  await page.getByRole('button', { name: 'Edit store' }).click();
  const part = form(page, 'store');
  await part.getByText('Advanced').click();
  for (const [label, wrong, right, text] of [
    ['Collector address', 'collector.example', '192.0.2.9', /Names are not resolved/],
    ['Port', '0', '65535', 'A number from 1 to 65535.'],
    ['Active timeout, seconds', '3601', '3600', 'A number from 1 to 3600.'],
    ['Template interval, seconds', '0', '86400', /^A number from 1 to 86.?400\.$/],
    ['Observation domain', '4294967296', '4294967295', /^A number from 0 to/],
  ] as const) {
    const field = part.getByLabel(label, { exact: true });
    await field.fill(wrong);
    await expect(field).toHaveAttribute('aria-invalid', 'true');
    await expect(part.locator('.problem')).toHaveText(text);
    await field.fill(right);
    await expect(part.locator('.problem')).toHaveCount(0);
  }
});

test('only UDP collectors have a template interval', async ({ page }) => {
  await open(page);
  await page.getByRole('button', { name: 'Edit archive' }).click();
  const part = form(page, 'archive');
  await part.getByText('Advanced').click();
  await expect(part.getByLabel('Idle timeout, seconds')).toHaveValue('15');
  await expect(part.getByLabel('Template interval, seconds')).toHaveCount(0);
  await part.getByLabel('Transport').selectOption('udp');
  await expect(part.getByLabel('Template interval, seconds')).toHaveValue('10');
});

test('a form that the daemon refuses opens at the refused field', async ({ page }) => {
  const problem = {
    ...{ config: 'fastpath', section: 'lab', option: 'name', value: 'store', code: 'duplicate' },
    ...{ params: { value: 'store' }, text: 'is there twice' },
  };
  await open(page, undefined, [problem]);
  await page.getByRole('button', { name: 'Edit lab' }).click();
  await form(page, 'lab').getByLabel('Name').fill('store');
  await form(page, 'store').getByRole('button', { name: 'Close' }).click();
  await expect(form(page, 'store')).toHaveCount(0);
  await expect(page.locator('[data-edit=lab]')).toBeFocused();
  await review(page).click();
  const name = form(page, 'store').getByLabel('Name');
  await expect(name).toBeFocused();
  await expect(name).toHaveAttribute('aria-invalid', 'true');
  await expect(form(page, 'store').locator('.problem')).toHaveText('Duplicate value “store”.');
});

test('an unknown option shows its problem, and can be removed', async ({ page }) => {
  const { checked } = await open(page, (answers) => {
    for (const { section, values } of sectionsOf(answers)) {
      if (section === 'store') values['hots'] = '192.0.2.1';
    }
    const { result } = answers['fastpath status {}'] as {
      result: [number, { problems: object[] }];
    };
    result[1].problems = [
      {
        ...{ config: 'fastpath', section: 'store', option: 'hots', value: '192.0.2.1' },
        ...{ code: 'not-an-option', params: {}, text: 'is not an option of this section' },
      },
    ];
  });
  const unknown = page.locator('[data-unknown=hots]');
  await expect(unknown).toContainText('This option does not belong to this section.');
  await unknown.getByRole('button', { name: 'Remove option hots' }).click();
  await expect(unknown).toHaveCount(0);
  await review(page).click();
  await expect
    .poll(() => checked)
    .toEqual([[{ config: 'fastpath', op: 'set', section: 'store', values: { hots: null } }]]);
});

test('a collector of another kind is listed without a form', async ({ page }) => {
  await open(page, (answers) => {
    for (const { section, values } of sectionsOf(answers)) {
      if (section === 'lab') values['kind'] = 'syslog';
    }
  });
  await expect(row(page, 'lab')).toContainText('SYSLOG');
  await expect(page.getByRole('button', { name: 'Remove lab' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Edit lab' })).toHaveCount(0);
});

test('a refused collector of another kind shows its problems', async ({ page }) => {
  await open(page, (answers) => {
    for (const each of sectionsOf(answers)) {
      if (each.section === 'lab') each.values = { kind: 'syslog', host: 'log.example' };
    }
    const { result } = answers['fastpath status {}'] as {
      result: [number, { problems: object[] }];
    };
    const at = { config: 'fastpath', section: 'lab', text: 'in English' };
    result[1].problems = [
      {
        ...{ ...at, option: 'host', value: 'log.example', code: 'not-an-address' },
        params: { value: 'log.example' },
      },
      { ...at, option: 'key', value: '', code: 'missing', params: {} },
    ];
    const exported = answers[EXPORTS] as { result: [number, { exports: { name: string }[] }] };
    const { exports } = exported.result[1];
    exported.result[1].exports = exports.filter(({ name }) => name !== 'lab');
  });
  const state = row(page, 'lab').locator('[data-state=unknown]');
  await expect(state).toContainText('Not in force');
  await expect(state.locator('.problem')).toHaveText([
    /^host: .*log\.example/,
    'key: A value is required.',
  ]);
  expect(await violations(page)).toEqual([]);
});

test('the button of a row collapses and expands its form', async ({ page }) => {
  await open(page);
  const edit = page.getByRole('button', { name: 'Edit store' });
  await expect(edit).toHaveAttribute('aria-expanded', 'false');
  await edit.press('Enter');
  await expect(form(page, 'store').getByLabel('Name')).toBeFocused();
  await expect(edit).toHaveAttribute('aria-expanded', 'true');
  const controlled = (await edit.getAttribute('aria-controls')) ?? '';
  await expect(page.locator(`[id="${controlled}"]`)).toHaveRole('region');
  await page.getByRole('button', { name: 'Edit archive' }).click();
  await expect(form(page, 'store')).toHaveCount(0);
  await expect(form(page, 'archive').getByLabel('Name')).toBeFocused();
  await page.getByRole('button', { name: 'Edit archive' }).press('Enter');
  await expect(form(page, 'archive')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Edit archive' })).toBeFocused();
  await expect(page.getByRole('button', { name: 'Edit archive' })).toHaveAttribute(
    'aria-expanded',
    'false',
  );
});

test('the form of a refused collector stays open, and its button focuses it', async ({ page }) => {
  await open(page, (answers) => {
    const { result } = answers['fastpath status {}'] as {
      result: [number, { problems: object[] }];
    };
    result[1].problems = [
      {
        ...{ config: 'fastpath', section: 'store', option: 'port', value: '0' },
        ...{ code: 'missing', params: {}, text: 'is missing' },
      },
    ];
  });
  const edit = page.getByRole('button', { name: 'Edit store' });
  await expect(form(page, 'store')).toBeVisible();
  for (let time = 0; time < 2; time += 1) {
    await expect(edit).not.toHaveAttribute('aria-expanded');
    await edit.press('Enter');
    await expect(form(page, 'store').getByLabel('Name')).toBeFocused();
  }
});

test('a viewer reads the settings of a collector', async ({ page }) => {
  await open(page, (answers) => {
    const key = Object.keys(answers).find((each) => each.startsWith('session access')) ?? '';
    answers[key] = { result: [0, { access: false }] };
  });
  await expect(page.getByRole('button', { name: /^(Add|Remove|Edit) / })).toHaveCount(0);
  await page.getByRole('button', { name: 'Details of archive' }).click();
  await expect(form(page, 'archive')).toContainText(/Transport\s*TCP/);
  await expect(form(page, 'archive').locator('input, select')).toHaveCount(0);
  // A viewer's form has no fields, so the heading gets the focus.
  await expect(page.getByRole('heading', { name: 'Settings of archive' })).toBeFocused();
  const details = page.getByRole('button', { name: 'Details of archive' });
  await details.press('Enter');
  await expect(form(page, 'archive')).toHaveCount(0);
  await expect(details).toBeFocused();
  await details.press('Enter');
  await form(page, 'archive').getByRole('button', { name: 'Close' }).press('Enter');
  await expect(details).toBeFocused();
});

test('a failed poll is reported above the last numbers', async ({ page }) => {
  let answers: Recording['answers'] = {};
  await open(page, (all) => (answers = all));
  await expect(row(page, 'store').locator('.sent')).toHaveText(/41/);
  answers[EXPORTS] = { result: [9] };
  await expect(page.getByRole('alert')).toContainText('The state of the collectors');
  await expect(row(page, 'store').locator('.sent')).toHaveText(/41/);
});

test('options of collectors and metrics are found by the search', async ({ page }) => {
  await open(page);
  const seek = async (text: string) => {
    await page.goto('#/overview');
    await shown(page);
    await page.keyboard.press('Control+k');
    await expect(page.getByRole('combobox', { name: /^Search screens/ })).toBeFocused();
    await page.keyboard.type(text);
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(/#\/export$/);
  };
  await seek('hosts reported');
  await expect(page.getByLabel('Hosts reported individually')).toBeFocused();
  await seek('observation domain');
  await expect(page.getByRole('heading', { level: 2, name: 'Collectors' })).toBeFocused();
});

for (const width of [320, 1280]) {
  test(`an open form fits and is accessible, ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await open(page);
    await page.getByRole('button', { name: 'Edit store' }).click();
    await form(page, 'store').getByText('Advanced').click();
    await form(page, 'store').getByLabel('Port', { exact: true }).fill('0');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(width);
    expect(await violations(page)).toEqual([]);
  });
}
