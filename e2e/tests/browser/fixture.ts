// SPDX-License-Identifier: GPL-2.0-or-later
import {
  test as base,
  expect,
  type BrowserContext,
  type Locator,
  type Page,
  type Request,
} from '@playwright/test';
import { leftOut, page as ownPage } from '../labs';
import { Lab, Lan, Router } from './lab';
import { isLuciLogin, isLuciLoginCall, isLuciProbe, logInToLuci, placed, theme } from './place';

/** Collects browser errors, each of which fails the test unless the test expects it. */
export class Watch {
  private readonly faults: string[] = [];
  private readonly expected: RegExp[] = [];

  constructor(context: BrowserContext, origin: string) {
    context.on('console', (message) => {
      if (message.type() !== 'error' || isLuciLogin(message)) return;
      this.faults.push(`console: ${message.text()}`);
    });
    context.on('weberror', (weberror) => {
      const error = weberror.error();
      if (!isLuciLoginCall(error)) this.faults.push(`error: ${error.message}`);
    });
    context.on('request', (request) => {
      const url = new URL(request.url());
      const elsewhere = url.protocol.startsWith('http') && url.origin !== origin;
      if (elsewhere && !isLuciProbe(request.url())) {
        this.faults.push(`request off the origin: ${request.url()}`);
      }
    });
  }

  expectOutage(): void {
    this.expected.push(/Failed to load resource|net::ERR_/);
  }

  /** Accepts violations of a content policy that the test has tightened. */
  expectRefusal(): void {
    this.expected.push(/securitypolicyviolation|Content Security Policy/);
  }

  get unexpected(): string[] {
    return this.faults.filter((fault) => !this.expected.some((each) => each.test(fault)));
  }
}

interface Options {
  /** Starts each test with Suricata inline, which takes 10 s in the lab. */
  inspected: boolean;
}

interface Fixtures {
  lab: Lab;
  /** The gateway, with all services running. */
  router: Router;
  lan: Lan;
  watch: Watch;
  supported: undefined;
}

export const test = base.extend<Fixtures & Options>({
  inspected: [false, { option: true }],
  // eslint-disable-next-line no-empty-pattern -- Playwright reads the fixtures' names here
  baseURL: async ({}, use) => use(ownPage()),
  supported: [
    // eslint-disable-next-line no-empty-pattern -- Playwright reads the fixtures' names here
    async ({}, use, info) => {
      const without = leftOut(info);
      info.skip(without !== undefined, without);
      await use(undefined);
    },
    { auto: true },
  ],
  lab: async ({ inspected }, use) => {
    const lab = new Lab(inspected ? 'inspect' : 'config');
    await lab.verb('good_state');
    await use(lab);
    await lab.verb('restore_state');
    await lab.verb('leaves_no_files');
  },
  page: async ({ page }, use) => use(placed(page)),
  router: async ({ lab }, use) => use(new Router(lab)),
  lan: async ({ lab }, use) => use(new Lan(lab)),
  watch: [
    async ({ context, baseURL }, use) => {
      const watch = new Watch(context, new URL(baseURL ?? '').origin);
      await context.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', (event) => {
          console.error(`securitypolicyviolation ${event.violatedDirective} ${event.blockedURI}`);
        });
      });
      await use(watch);
      expect(watch.unexpected, 'faults that the page must never have').toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

export type User = 'root' | 'viewer';
export const passwords: Record<User, string> = { root: 'fastpath', viewer: 'look' };

export async function logIn(page: Page, user: User = 'root'): Promise<void> {
  if (theme) {
    await logInToLuci(page, user, passwords[user]);
  } else {
    await page.getByLabel('User name').fill(user);
    await page.getByLabel('Password', { exact: true }).fill(passwords[user]);
    await page.getByRole('button', { name: 'Log in' }).click();
  }
  await expect(page.getByRole('navigation', { name: 'Screens' })).toBeVisible();
  // Keeps the pointer away, because the flow table moves no rows under it.
  await page.mouse.move(0, 0);
}

export const screens = ['overview', 'flows', 'protection', 'topology'] as const;
export type Screen = (typeof screens)[number];

export async function open(page: Page, screen: string, user: User = 'root'): Promise<void> {
  await page.goto(`#/${screen}`);
  await logIn(page, user);
  await live(page);
  // On a slow machine the screen loads after the header shows the connection.
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
}

export function entry(page: Page, name: string) {
  return page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name, exact: true });
}

export async function userMenu(page: Page, name = 'User menu: root'): Promise<Locator> {
  await page.getByRole('button', { name }).click();
  return page.getByRole('menu');
}

export async function live(page: Page): Promise<void> {
  await expect(page.locator('[data-connection]')).toHaveText('Live');
}

/** Tag of the tests in `./build.sh test`; `./build.sh test all` runs all tests. */
export const core = { tag: '@core' };

/** Marks a test that needs emulated machines, with the reason. */
export const onQemu = (why: string) => ({
  tag: '@qemu',
  annotation: { type: 'qemu', description: why },
});

export const WINDOW_MS = 8000;

export async function requests(page: Page): Promise<Request[]> {
  const seen: Request[] = [];
  const listener = (request: Request) => seen.push(request);
  page.on('request', listener);
  // @sleep: period in which requests are counted
  await page.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), WINDOW_MS);
  page.off('request', listener);
  return seen;
}

/** Message that the router or the daemon does not answer. */
export function banner(page: Page, words: RegExp) {
  return page.getByRole('status').filter({ hasText: words });
}

/** Row of the TCP flow from h10 with this source port. */
export function rowOf(page: Page, port: number) {
  const name = new RegExp(`^TCP 10\\.10\\.10\\.10:${port} to `);
  return page.getByRole('row').filter({ has: page.getByRole('button', { name }) });
}

export function note(text: string): void {
  test.info().annotations.push({ type: 'note', description: text });
}
