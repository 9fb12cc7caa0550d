// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, shown } from './screens';

test.use({ locale: 'en-GB' });

async function open(page: Page, screen: string): Promise<string[]> {
  const asked: string[] = [];
  await replay(page);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const [, object, method, args] = params as [string, string, string, object];
    if (object !== 'rpc-sys') return route.fallback();
    asked.push(`${method} ${JSON.stringify(args)}`);
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, {}] } });
  });
  await entered(page);
  await page.goto(`#/${screen}`);
  await shown(page);
  return asked;
}

const next = (page: Page) => page.getByRole('button', { name: 'Next' });
const step = (page: Page, name: string) => page.getByRole('heading', { level: 2, name });

/** The recorded router has no password, so the wizard requires one. */
async function typePassword(page: Page): Promise<void> {
  await page.getByLabel('New password').fill('long enough');
  await page.getByLabel('Confirm password').fill('long enough');
}

test('the last step of the wizard warns that it applies earlier edits', async ({ page }) => {
  await open(page, 'fastpath');
  await page.getByLabel('First packets on the slow path').fill('7');
  await page.evaluate(() => (location.hash = '#/wizard'));
  await typePassword(page);
  for (const name of ['Internet', 'Networks', 'Protection', 'Apply']) {
    await next(page).click();
    await expect(step(page, name)).toBeFocused();
  }
  await expect(page.getByText('1 edit made before is applied too.')).toBeVisible();
});

test('the last step of the wizard has no warning without earlier edits', async ({ page }) => {
  await open(page, 'wizard');
  await typePassword(page);
  for (const name of ['Internet', 'Networks', 'Protection', 'Apply']) {
    await next(page).click();
    await expect(step(page, name)).toBeFocused();
  }
  await expect(page.getByText('made before')).toHaveCount(0);
});

test('the wizard keeps a typed password until it is confirmed', async ({ page }) => {
  const asked = await open(page, 'wizard');
  await page.getByLabel('New password').fill('long enough');
  await next(page).click();
  await expect(page.getByText('The passwords do not match.')).toBeVisible();
  await expect(step(page, 'Password')).toBeVisible();
  await page.getByLabel('Confirm password').fill('long enough');
  await next(page).click();
  await expect(step(page, 'Internet')).toBeFocused();
  expect(asked).toEqual(['password_set {"user":"root","password":"long enough"}']);
});

test('only the image that was checked last can be installed', async ({ page }) => {
  const asked = await open(page, 'system');
  let received = 4;
  await page.route('**/cgi-bin/cgi-upload', (route) => route.fulfill({ json: { size: received } }));
  const image = (name: string) => ({ name, mimeType: '', buffer: Buffer.from('bits') });
  const file = page.getByLabel('Choose firmware image …');
  const install = page.getByRole('button', { name: 'Flash and reboot' });
  await file.setInputFiles(image('good.bin'));
  await expect(install).toBeVisible();
  received = 2;
  await file.setInputFiles(image('cut.bin'));
  await expect(page.getByText('2 of 4 bytes received')).toBeVisible();
  await expect(install).toHaveCount(0);
  expect(asked).toEqual(['upgrade_test {}']);
});

test('an image that is no longer chosen cannot be installed', async ({ page }) => {
  await open(page, 'system');
  await page.route('**/cgi-bin/cgi-upload', (route) => route.fulfill({ json: { size: 4 } }));
  const file = page.getByLabel('Choose firmware image …');
  const install = page.getByRole('button', { name: 'Flash and reboot' });
  await file.setInputFiles({ name: 'good.bin', mimeType: '', buffer: Buffer.from('bits') });
  await expect(install).toBeVisible();
  await file.setInputFiles([]);
  await expect(page.getByText('good.bin')).toHaveCount(0);
  await expect(install).toHaveCount(0);
});
