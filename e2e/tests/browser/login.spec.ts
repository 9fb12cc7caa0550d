// SPDX-License-Identifier: GPL-2.0-or-later
import { core, expect, live, logIn, open, test, userMenu } from './fixture';
import { standaloneOnly } from './place';

standaloneOnly();

test('a wrong password is refused, the right one logs in', core, async ({ page }) => {
  await page.goto('');
  await page.getByLabel('User name').fill('root');
  await page.getByLabel('Password', { exact: true }).fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await expect(page.getByRole('alert')).toHaveText('Wrong user name or password.');
  await expect(page.getByLabel('Password', { exact: true })).toHaveValue('');
  await logIn(page);
  await live(page);
  await expect(page).toHaveTitle(/^(\d+ health findings? · )?Overview · \S+ · fastpath$/);
});

test('a reload stays logged in, logging out ends the session', async ({ page, request }) => {
  await open(page, 'topology');
  const stored = await page.evaluate(() => sessionStorage.getItem('fastpath.session'));
  const { session } = JSON.parse(stored ?? '{}') as { session: string };
  const status = async () => {
    const params = [session, 'fastpath', 'status', {}];
    const data = { jsonrpc: '2.0', id: 1, method: 'call', params };
    return (await (await request.post('/ubus', { data })).json()) as object;
  };
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Interfaces' })).toBeVisible();
  expect(await status()).toHaveProperty('result');
  await (await userMenu(page)).getByRole('menuitem', { name: 'Log out' }).click();
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible();
  expect(await status()).toHaveProperty('error.code', -32002);
});

test('an ended session asks for a login and keeps the screen', async ({ page, request }) => {
  await open(page, 'flows');
  await page.getByRole('searchbox', { name: 'Filter flows' }).fill('10.10');
  await expect(page).toHaveURL(/text=10\.10/);
  const stored = await page.evaluate(() => sessionStorage.getItem('fastpath.session'));
  const { session } = JSON.parse(stored ?? '{}') as { session: string };
  const params = [session, 'session', 'destroy', {}];
  await request.post('/ubus', { data: { jsonrpc: '2.0', id: 1, method: 'call', params } });
  await expect(page.getByText('Your session has expired. Log in to continue')).toBeVisible();
  await logIn(page);
  await live(page);
  await expect(page.getByRole('searchbox', { name: 'Filter flows' })).toHaveValue('10.10');
});
