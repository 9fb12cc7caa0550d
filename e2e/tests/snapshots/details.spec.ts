// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page, type Request } from '@playwright/test';
import { replay, type Recording } from './replay';
import { entered, screens, shown } from './screens';

async function open(
  page: Page,
  screen: string,
  change: (answers: Recording['answers']) => void = () => undefined,
): Promise<void> {
  await replay(page, change);
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
}

test.use({ locale: 'en-GB' });

test('the login can show the password, and names the last router', async ({ page }) => {
  await replay(page);
  await page.goto('');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Log in');
  const password = page.getByLabel('Password', { exact: true });
  await password.fill('secret');
  await expect(password).toHaveAttribute('type', 'password');
  await page.getByLabel('Show password').check();
  await expect(password).toHaveAttribute('type', 'text');
  await expect(password).toHaveValue('secret');
  await page.getByRole('button', { name: 'Log in' }).click();
  await shown(page);
  await expect(page.locator('[data-connection=live]')).toBeVisible();
  await page.evaluate(() => sessionStorage.clear());
  await page.reload();
  await expect(page.getByText('Last seen at this address: gateway')).toBeVisible();
});

test.describe('2560 px', () => {
  test.use({ viewport: { width: 2560, height: 900 } });

  test('every screen has the same width', async ({ page }) => {
    test.slow();
    await open(page, 'overview');
    const right = () =>
      page
        .locator('main :is(.panel, [role=table]):visible')
        .evaluateAll((all) =>
          Math.max(...all.map((each) => Math.round(each.getBoundingClientRect().right))),
        );
    const edge = await right();
    expect(edge).toBeGreaterThan(1500);
    for (const screen of Object.values(screens)) {
      await page.goto(`#/${screen}`);
      await shown(page);
      await expect.poll(right, { message: screen }).toBe(edge);
    }
  });
});

test('the evidence of a finding is shown as code and can be copied', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, 'health');
  const finding = page.locator('details[data-finding=ips-rules]');
  await expect(finding.locator('td code')).toHaveText([
    'builtin',
    'ubus call fastpath ips',
    '63',
    'ubus call fastpath ips',
  ]);
  await finding.getByRole('button', { name: 'Copy evidence' }).click();
  await expect(finding.getByRole('status')).toHaveText('Copied.');
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied.split('\n')).toContain('rules loaded: 63 (ubus call fastpath ips)');
});

test('the evidence can be copied without TLS', async ({ page }) => {
  await page.addInitScript(() => {
    Object.defineProperty(window, 'isSecureContext', { value: false });
    const state = window as unknown as { copied: string };
    document.addEventListener('copy', () => {
      const area = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement;
      state.copied = (area as HTMLTextAreaElement).value;
    });
  });
  await open(page, 'health');
  const finding = page.locator('details[data-finding=ips-rules]');
  const button = finding.getByRole('button', { name: 'Copy evidence' });
  await button.click();
  await expect(finding.getByRole('status')).toHaveText('Copied.');
  await expect(button).toBeFocused();
  expect(await page.evaluate(() => (window as unknown as { copied: string }).copied)).toContain(
    'rules loaded: 63',
  );
});

for (const [screen, name] of [
  ['protection', 'Filter alerts'],
  ['system', 'Search text'],
] as const) {
  test(`${screen}: / moves to the filter, Escape clears and leaves it`, async ({ page }) => {
    await open(page, screen);
    const field = page.getByRole('searchbox', { name });
    await page.keyboard.press('/');
    await expect(field).toBeFocused();
    await page.keyboard.type('a/b');
    await expect(field).toHaveValue('a/b');
    await page.keyboard.press('Escape');
    await expect(field).toHaveValue('');
    await expect(field).toBeFocused();
    await page.keyboard.press('Escape');
    await expect(field).not.toBeFocused();
    await page.goto('#/health');
    await expect(field).toHaveCount(0);
    await page.evaluate(() => {
      addEventListener('keydown', ({ defaultPrevented }) => {
        document.documentElement.dataset['taken'] = String(defaultPrevented);
      });
    });
    await page.keyboard.press('/');
    await expect(page.locator('html')).toHaveAttribute('data-taken', 'false');
  });
}

test('Escape in the filter of alerts does not close the open alert', async ({ page }) => {
  await open(page, 'protection');
  await page.locator('[data-alert] button').first().click();
  const details = page.getByRole('complementary', { name: 'Alert' });
  await expect(details).toBeVisible();
  await page.keyboard.press('/');
  await page.keyboard.press('Escape');
  await expect(details).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(details).toHaveCount(0);
});

test('an alert offers edits of the configuration', async ({ page }) => {
  await open(page, 'protection');
  // Edits that cut somebody off are not applied at once.
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    if (params[2] !== 'check') return route.fallback();
    const cuts = [{ code: 'own-address', params: {}, text: '' }];
    const result = [0, { problems: [], diff: [], cuts }];
    return route.fulfill({ json: { jsonrpc: '2.0', id, result } });
  });
  await page.locator('[data-alert] button').first().click();
  const details = page.getByRole('complementary', { name: 'Alert' });
  for (const name of ['Block 203.0.113.1', 'Disable rule 8100001', 'Never inspect 10.10.10.10']) {
    const button = details.getByRole('button', { name, exact: true });
    await button.click();
    await expect(button).toBeDisabled();
    await expect(details.getByRole('status')).toContainText(`Added to your edits: ${name}.`);
  }
  await expect(details.getByRole('button', { name: 'Never block 203.0.113.1' })).toBeEnabled();
  await expect(page.getByText('4 edits')).toBeVisible();
  await expect(details.getByRole('link', { name: 'Flows of 203.0.113.1' })).toBeVisible();
});

test('alerts show host names, and blocks show their effect', async ({ page }) => {
  await open(page, 'protection', (answers) => {
    const { result } = answers['fastpath alerts {"filter":{},"limit":100}'] as {
      result: [number, { alerts: { dst_name: string }[] }];
    };
    for (const alert of result[1].alerts) alert.dst_name = 'camera';
  });
  await expect(page.locator('[data-alert]').first()).toContainText(/→\s*camera:\d+/);
  const host = page.locator('[data-block="10.10.20.10"]');
  await expect(host).toContainText('All traffic of this host through the router is dropped.');
  await expect(page.locator('[data-block="203.0.113.1"]')).not.toContainText('All traffic');
});

test('without a rule source, no update is announced', async ({ page }) => {
  await open(page, 'protection?part=rules');
  const panel = page.getByRole('region', { name: 'Rule set' });
  await expect(panel).toContainText('none: add a rule source first');
  await expect(panel).toContainText(/!\s*Built-in rules only/);
});

test('selecting text in a flow does not open it', async ({ page }) => {
  await open(page, 'flows');
  const cell = page.locator('[data-index="0"] .c-dst');
  const box = await cell.boundingBox();
  if (!box) throw new Error('no cell');
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + 2, y);
  await page.mouse.down();
  await page.mouse.move(box.x + 60, y);
  await page.mouse.up();
  const selected = () => page.evaluate(() => String(getSelection()));
  expect(await selected()).not.toBe('');
  await expect(page).not.toHaveURL(/flow=/);
  await page.locator('[data-index="0"] button').focus();
  expect(await selected()).not.toBe('');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/flow=/);
});

test('Internet shows port and VLAN first, and the newest log entry', async ({ page }) => {
  await open(page, 'wan');
  const labels = page.getByRole('region', { name: 'Settings of wan' }).locator('.label');
  await expect(labels).toContainText(['Protocol', 'User name', 'Password', 'Port', 'VLAN']);
  const log = page.getByRole('list', { name: 'Connection log' }).locator('time');
  await expect(log.nth(5)).toBeVisible();
  const times = await log.all();
  const shownTimes = await Promise.all(times.map((each) => each.textContent()));
  expect(shownTimes).toEqual([...shownTimes].sort().reverse());
});

for (const [screen, name] of [
  ['wan', 'Connection log'],
  ['system', 'System log'],
] as const) {
  test(`the ${name} is not shown as empty before it is read`, async ({ page }) => {
    await replay(page);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const asksLog = (request: Request) =>
      new URL(request.url()).pathname === '/ubus' &&
      (request.postDataJSON() as { params: unknown[] }).params[1] === 'log';
    await page.route('**/ubus', async (route) => {
      if (asksLog(route.request())) await released;
      await route.fallback();
    });
    const asked = page.waitForRequest(asksLog);
    await entered(page);
    await page.goto(`#/${screen}`);
    const log = page.getByRole('list', { name });
    await asked;
    await expect(log).toHaveAttribute('aria-busy', 'true');
    await expect(log.getByRole('listitem')).toHaveCount(0);
    release();
    await expect(log.getByRole('listitem').first()).toContainText(/\d\d:\d\d/);
    await expect(log).toHaveAttribute('aria-busy', 'false');
  });
}

test('a change of the engine on Overview is announced as temporary', async ({ page }) => {
  await open(page, 'overview', (answers) => {
    const { result } = answers['fastpath status {}'] as {
      result: [number, { engine: { source: string } }];
    };
    result[1].engine.source = 'config';
  });
  await expect(page.getByText('Temporary until the next reload.')).toBeVisible();
});

test.describe('in German', () => {
  test.use({ locale: 'de-DE' });

  test('the table of queues fits its panel', async ({ page }) => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, 'protection');
    const table = page.getByRole('group', { name: 'Warteschlangen und CPUs' });
    await expect(table.getByRole('columnheader')).toHaveCount(6);
    expect(await table.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0);
  });

  test('a file is chosen by a button in the language of the page', async ({ page }) => {
    await open(page, 'system');
    const file = page.getByLabel('Aus Datei wiederherstellen');
    await file.focus();
    await file.setInputFiles({
      name: 'no\u202Egpj.tar.gz',
      mimeType: '',
      buffer: Buffer.from('x'),
    });
    await expect(page.getByText('no[U+202E]gpj.tar.gz')).toBeVisible();
    // The browser's label, in the browser's language, is hidden.
    expect((await file.boundingBox())?.width).toBeLessThan(2);
  });
});
