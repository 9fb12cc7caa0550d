// SPDX-License-Identifier: GPL-2.0-or-later
import { test, type ConsoleMessage, type Page } from '@playwright/test';

/** The theme of LuCI in which the tests open the page; without one the page is by itself. */
export const theme = process.env['LUCI_THEME'];

const LUCI = '/cgi-bin/luci/admin/fastpath';

/** Leaves out the tests of a file, or the one that calls it, in LuCI. */
export function onlyByItself(): void {
  test.skip(!!theme, 'in LuCI the page has no login, language or address of its own');
}

/** LuCI's address of a screen that the page by itself has behind `#`; other addresses stay. */
function inLuci(url: string): string {
  const own = /^(?:[^#]*\/fastpath\/)?(?:#\/(.*))?$/.exec(url);
  return own ? `${LUCI}/${own[1] || 'overview'}` : url;
}

/** A page whose addresses are those of the place that the tests run in. */
export function placed(page: Page): Page {
  if (!theme) return page;
  const goto = page.goto.bind(page);
  page.goto = (url, options) => goto(inLuci(url), options);
  return page;
}

/** The browser's errors of LuCI's own login form: its status is 403, and it looks for HTTPS. */
export function isLuciLogin(message: ConsoleMessage): boolean {
  const { url } = message.location();
  const form = /\b403\b/.test(message.text()) && url.includes(LUCI);
  return !!theme && (form || isLuciProbe(url));
}

/** LuCI's own sysauth.ut, which bootstrap replaces, tries whether the router serves HTTPS. */
export function isLuciProbe(url: string): boolean {
  return !!theme && /^https:.*\/luci-static\/resources\/icons\/loading\.svg\?/.test(url);
}

/** Its login form asks for a configuration that nobody may read before the login (25.12.5). */
export function isLuciLoginCall(error: Error): boolean {
  return !!theme && /^RPC call to uci\/get failed with error -32002/.test(error.message);
}

/** Fills LuCI's login form, which is shown. */
export async function logInToLuci(page: Page, user: string, password: string): Promise<void> {
  test.skip(user !== 'root', 'a viewer may not use LuCI, see README: the page by itself is theirs');
  const wanted = page.url();
  await page.locator('[name=luci_username]').fill(user);
  await page.locator('[name=luci_password]').fill(password);
  await page.locator('[name=luci_password]').press('Enter');
  await page.locator('.fastpath-app').waitFor();
  // The form leads to the address without its query.
  if (page.url() !== wanted) await page.goto(wanted);
}
