// SPDX-License-Identifier: GPL-2.0-or-later
import { test, type ConsoleMessage, type Page } from '@playwright/test';

/** LuCI theme to test in; `undefined` for the standalone page. */
export const theme = process.env['LUCI_THEME'];

const LUCI = '/cgi-bin/luci/admin/fastpath';

/** Skips the calling test, or all tests of a file, if the tests run in LuCI. */
export function standaloneOnly(): void {
  test.skip(!!theme, 'in LuCI the page has no login, language or address of its own');
}

/** Converts an address of the standalone page to LuCI's; other addresses are unchanged. */
function inLuci(url: string): string {
  const own = /^(?:[^#]*\/fastpath\/)?(?:#\/(.*))?$/.exec(url);
  return own ? `${LUCI}/${own[1] || 'overview'}` : url;
}

/** Makes `goto` use LuCI's addresses if the tests run in LuCI. */
export function placed(page: Page): Page {
  if (!theme) return page;
  const goto = page.goto.bind(page);
  page.goto = (url, options) => goto(inLuci(url), options);
  return page;
}

/** Matches errors of LuCI's login form: it answers with 403 and probes for HTTPS. */
export function isLuciLogin(message: ConsoleMessage): boolean {
  const { url } = message.location();
  const form = /\b403\b/.test(message.text()) && url.includes(LUCI);
  return !!theme && (form || isLuciProbe(url));
}

/** LuCI's sysauth.ut probes whether the router serves HTTPS; theme bootstrap replaces that file. */
export function isLuciProbe(url: string): boolean {
  return !!theme && /^https:.*\/luci-static\/resources\/icons\/loading\.svg\?/.test(url);
}

/** LuCI 25.12.5's login form requests a configuration that is readable only after the login. */
export function isLuciLoginCall(error: Error): boolean {
  return !!theme && /^RPC call to uci\/get failed with error -32002/.test(error.message);
}

export async function logInToLuci(page: Page, user: string, password: string): Promise<void> {
  test.skip(user !== 'root', 'a viewer may not use LuCI, see README: the page by itself is theirs');
  const wanted = page.url();
  await page.locator('[name=luci_username]').fill(user);
  await page.locator('[name=luci_password]').fill(password);
  await page.locator('[name=luci_password]').press('Enter');
  await page.locator('.fastpath-app').waitFor();
  if (page.url() !== wanted) await page.goto(wanted);
}
