// SPDX-License-Identifier: GPL-2.0-or-later
import { chromium } from '@playwright/test';
import { core, expect, live, logIn, test } from './fixture';
import { openInLuci } from './luci';
import { standaloneOnly } from './place';

standaloneOnly();

test(
  'the page works over HTTP, which is not a secure context',
  core,
  async ({ baseURL, launchOptions }) => {
    const url = new URL(baseURL ?? '');
    const port = url.port;
    url.hostname = 'gateway.lan';
    const args = [...(launchOptions.args ?? []), '--host-resolver-rules=MAP gateway.lan 127.0.0.1'];
    const browser = await chromium.launch({ ...launchOptions, args });
    try {
      const page = await browser.newPage({ locale: 'en-GB' });
      await page.goto(`http://gateway.lan:${port}${url.pathname}#/cpu`);
      expect(await page.evaluate(() => isSecureContext)).toBe(false);
      await logIn(page);
      await expect(page.locator('[data-cpu="0"]')).toBeVisible();
    } finally {
      await browser.close();
    }
  },
);

test('the page works in LuCI with a policy that allows only the router’s scripts', async ({
  page,
  request,
}) => {
  const policy = "script-src 'self' 'unsafe-inline' 'unsafe-eval'";
  await openInLuci(page, request, 'overview', {
    headers: { 'content-security-policy': policy },
  });
  await live(page);
});
