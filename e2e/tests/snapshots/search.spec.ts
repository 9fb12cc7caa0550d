// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { violations } from '../browser/axe';
import { replay, type Recording } from './replay';
import { entered, screens, shown } from './screens';

test.use({ locale: 'en-GB' });

interface Opened {
  refused: string[];
  asked: string[];
}

async function open(
  page: Page,
  screen: string,
  answers: Record<string, object> = {},
  edit?: (answers: Recording['answers']) => void,
): Promise<Opened> {
  const opened: Opened = { refused: [], asked: [] };
  await page.exposeFunction('refused', (text: string) => opened.refused.push(text));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      void (window as unknown as { refused: (text: string) => void }).refused(
        `${event.violatedDirective} ${event.sample}`,
      );
    });
  });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await replay(page, edit);
  await page.route('**/ubus', (route) => {
    const { id, params } = route.request().postDataJSON() as { id: number; params: unknown[] };
    const [, object, method, args] = params as [string, string, string, object];
    const answer = answers[`${object} ${method}`];
    if (!answer) return route.fallback();
    opened.asked.push(`${object} ${method} ${JSON.stringify(args)}`);
    return route.fulfill({ json: { jsonrpc: '2.0', id, result: [0, answer] } });
  });
  await entered(page);
  await page.goto(`#/${screens[screen] ?? screen}`);
  await shown(page);
  await expect(page.locator('[data-connection=live]')).toBeVisible();
  return opened;
}

const LABEL = /^(Search screens|Ansichten, Einstellungen)/;
const dialog = (page: Page) => page.getByRole('dialog', { name: LABEL });
const field = (page: Page) => dialog(page).getByRole('combobox', { name: LABEL });
const options = (page: Page) => dialog(page).getByRole('option');
const selected = (page: Page) => dialog(page).getByRole('option', { selected: true });

async function search(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await expect(field(page)).toBeFocused();
  await page.keyboard.type(text);
}

/** Expects the search to select this entry first, and presses Enter. */
async function choose(page: Page, text: string, name: RegExp): Promise<void> {
  await search(page, text);
  // Types the text again, because late answers do not change the selection.
  await expect(options(page).filter({ hasText: name }).first()).toBeVisible();
  await field(page).fill('');
  await field(page).fill(text);
  await expect(selected(page)).toHaveText(name);
  await page.keyboard.press('Enter');
  await expect(dialog(page)).toHaveCount(0);
}

test('screens are found and shown by keyboard alone', async ({ page }) => {
  const { refused } = await open(page, 'overview');
  await search(page, '');
  await expect(selected(page)).toHaveText('Overview');
  const active = () => field(page).getAttribute('aria-activedescendant');
  expect(await active()).toBe(await selected(page).getAttribute('id'));
  await page.keyboard.press('ArrowDown');
  await expect(selected(page)).toHaveText('Devices');
  expect(await active()).toBe(await selected(page).getAttribute('id'));
  await page.keyboard.press('End');
  const last = options(page).last();
  await expect(last).toHaveAttribute('aria-selected', 'true');
  await expect(last).toBeInViewport();
  await page.keyboard.press('ArrowDown');
  await expect(selected(page)).toHaveText('Overview');
  await page.keyboard.press('ArrowUp');
  await expect(last).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('Escape');
  await expect(dialog(page)).toHaveCount(0);
  await expect(page).toHaveURL(/#\/overview$/);
  await choose(page, 'topo', /^Topology/);
  await expect(page).toHaveURL(/#\/topology$/);
  await expect(page.getByRole('main')).toBeFocused();
  await choose(page, 'policies', /^Policies/);
  await expect(page.getByRole('region', { name: 'Inspection policies' })).toBeVisible();
  expect(refused).toEqual([]);
});

test('an answer keeps the selected entry, in view', async ({ page }) => {
  await open(page, 'flows');
  let answer = () => {};
  const asked = new Promise<void>((done) => (answer = done));
  await page.route('**/ubus', async (route) => {
    const { params } = route.request().postDataJSON() as { params: unknown[] };
    if (params[1] === 'fastpath' && params[2] === 'devices') await asked;
    return route.fallback();
  });
  await search(page, 'h');
  const before = await options(page).count();
  await page.keyboard.press('End');
  const last = (await selected(page).textContent()) ?? '';
  answer();
  await expect.poll(() => options(page).count()).toBeGreaterThan(before);
  await expect(selected(page)).toHaveText(last);
  await expect(selected(page)).toBeInViewport({ ratio: 1 });
});

test('the button opens the search, and Escape returns the focus to it', async ({ page }) => {
  await open(page, 'flows');
  const button = page.getByRole('button', { name: 'Search' });
  await button.click();
  await expect(field(page)).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(dialog(page)).toHaveCount(0);
  await expect(button).toBeFocused();
});

test('a setting is found by its label, and gets the focus on its screen', async ({ page }) => {
  await open(page, 'overview');
  await choose(page, 'first packets', /^First packets on the slow path/);
  await expect(page).toHaveURL(/#\/fastpath$/);
  await expect(page.getByLabel('First packets on the slow path')).toBeFocused();
  await choose(page, 'block duration', /^Block duration/);
  await expect(page).toHaveURL(/part=policy$/);
  await expect(page.getByLabel('Block duration in seconds')).toBeFocused();
  await expect(page.getByLabel('Block duration in seconds')).toBeInViewport();
});

test('a panel is found by its heading, and is brought into view', async ({ page }) => {
  await open(page, 'overview');
  for (const [text, screen, name] of [
    ['backup', 'system', 'Backup'],
    ['port forw', 'firewall', 'Port forwards'],
    ['hosts', 'topology', /^Hosts/],
  ] as const) {
    await search(page, text);
    await options(page).filter({ hasText: name }).first().click();
    await expect(page).toHaveURL(new RegExp(`#/${screen}$`));
    const heading = page.getByRole('heading', { level: 2, name });
    await expect(heading).toBeFocused();
    await expect(heading).toBeInViewport();
  }
});

test('a label is focused on its own screen, not on the previous one', async ({ page }) => {
  await open(page, 'system');
  const left = page.getByRole('heading', { level: 2, name: 'Users' });
  await left.evaluate((each) => (each.textContent = 'Maintenance'));
  await choose(page, 'maintenance', /^Maintenance/);
  await expect(page).toHaveURL(/#\/fastpath$/);
  const heading = page.getByRole('heading', { level: 2, name: 'Maintenance' });
  await expect(heading).toBeFocused();
});

test('a search that is reopened right after Escape stays open', async ({ page }) => {
  await open(page, 'overview');
  await search(page, 'topo');
  // Closes and reopens the search in one task, before the close event.
  await page.evaluate(() => {
    document.querySelector<HTMLDialogElement>('dialog[open]')?.close();
    const init = { key: 'k', ctrlKey: true, bubbles: true, composed: true };
    document.body.dispatchEvent(new KeyboardEvent('keydown', init));
  });
  await expect(field(page)).toBeFocused();
  await page.waitForFunction(() => document.querySelectorAll('dialog[open]').length === 1);
  await expect(field(page)).toHaveValue('');
  await expect(field(page)).toBeVisible();
});

test('a host without a device leads to its flows, other text to flows that contain it', async ({
  page,
}) => {
  await open(page, 'overview');
  const host = /^(?!Show flows with).*10\.0\.2\.2/;
  await search(page, '10.0.2.');
  // Late answers keep the selection; typing changes it.
  await expect(options(page).filter({ hasText: host })).toBeVisible();
  await page.keyboard.type('2');
  await expect(selected(page)).toHaveText(host);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/#\/flows\?host=10\.0\.2\.2$/);
  await choose(page, 'udp 192.0.2.77', /^Show flows with “udp 192\.0\.2\.77”/);
  await expect(page).toHaveURL(/#\/flows\?text=udp/);
});

test('findings of the last run lead to their entry', async ({ page }) => {
  await open(page, 'health');
  const finding = page.locator('details[data-finding]').first();
  const title = (await finding.getByRole('heading').textContent()) ?? '';
  await page.goto('#/flows');
  await shown(page);
  await search(page, title);
  await options(page).filter({ hasText: title }).first().click();
  await expect(page).toHaveURL(/#\/health$/);
  const summary = page.locator('summary', { hasText: title });
  await expect(summary).toBeFocused();
  await expect(summary).toBeInViewport();
});

test('an engine is switched, and the outcome is reported', async ({ page }) => {
  const engine = { active: 'off', wanted: 'off', devices: [], revocation: { count: 0 } };
  const { asked } = await open(page, 'flows', { 'fastpath engine': engine });
  await search(page, 'engine off');
  await expect(selected(page)).toHaveText(/^Switch the engine to Off/);
  await page.keyboard.press('Enter');
  await expect(dialog(page).getByRole('status')).toHaveText('Switched to Off.');
  expect(asked).toEqual(['fastpath engine {"set":"off"}']);
  await selected(page).click();
  await expect(field(page)).toBeFocused();
});

test('the last change is undone after a review', async ({ page }) => {
  const change = { id: 7, at_ms: 0, user: 'root', note: '', state: 'confirmed', undoable: true };
  const { asked } = await open(page, 'flows', {
    'fastpath.change pending': { pending: null, last: { ...change } },
    'fastpath.change list': { changes: [{ ...change, diff: [] }] },
    'fastpath.change undo': { edits: [] },
    'fastpath.change check': { problems: [], diff: [], cuts: [] },
  });
  await choose(page, 'undo', /^Undo the last change/);
  await expect(page.getByRole('button', { name: 'Review and apply' })).toBeVisible();
  await expect(page).toHaveURL(/#\/system\?undo=7$/);
  await page.reload();
  await shown(page);
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await expect(page.getByRole('dialog', { name: 'Changes' })).toBeVisible();
  expect(asked).toContain('fastpath.change undo {"id":7}');
  await page.getByRole('button', { name: 'Back', exact: true }).click();
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(page).toHaveURL(/#\/system$/);
});

test('theme, language and help are commands', async ({ page }) => {
  await open(page, 'overview');
  await choose(page, 'theme dark', /^Theme: Dark/);
  await expect(page.locator('.fastpath')).toHaveAttribute('data-scheme', 'dark');
  await choose(page, 'shortcuts', /^Shortcuts and glossary/);
  await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
  await page.keyboard.press('Control+k');
  await expect(dialog(page)).toHaveCount(0);
  await page.keyboard.press('Escape');
  await choose(page, 'deutsch', /^Language: Deutsch/);
  await expect(page.getByRole('navigation', { name: 'Ansichten' })).toBeVisible();
  await choose(page, 'ubersicht', /^Übersicht/);
});

test('a viewer finds no command that writes', async ({ page }) => {
  await open(page, 'overview', {}, (answers) => {
    for (const key of Object.keys(answers).filter((each) => each.startsWith('session access '))) {
      answers[key] = { result: [0, { access: false }] };
    }
  });
  for (const text of ['switch the engine', 'undo', 'setup wizard', 'path mtu test']) {
    await search(page, text);
    await expect(options(page)).toHaveText([/^Show flows with/]);
    await page.keyboard.press('Escape');
  }
  await choose(page, 'first packets', /^First packets on the slow path/);
  await expect(page.getByText('First packets on the slow path', { exact: true })).toBeFocused();
});

test('names from the network are not interpreted', async ({ page }) => {
  await open(page, 'overview', {}, (answers) => {
    const found = Object.entries(answers).filter(([key]) => key.startsWith('fastpath topology'));
    for (const [, answer] of found) {
      const [, topology] = (answer as { result: [number, { hosts: { name: string }[] }] }).result;
      for (const host of topology.hosts) host.name = 'evil\u202Egnp.exe <b>x</b>';
    }
  });
  await search(page, 'evil');
  await expect(options(page).first()).toContainText('evilU+202Egnp.exe <b>x</b>');
});

for (const { colorScheme, locale, width } of [
  { colorScheme: 'light', locale: 'en-GB', width: 320 },
  { colorScheme: 'dark', locale: 'de-DE', width: 320 },
  { colorScheme: 'dark', locale: 'en-GB', width: 1280 },
] as const) {
  test.describe(`${colorScheme}, ${locale}, ${width} px`, () => {
    test.use({ colorScheme, locale, viewport: { width, height: 740 } });

    test('the search is accessible and fits into the window', async ({ page }) => {
      const { refused } = await open(page, 'overview');
      for (const text of ['', 'e', 'nothing like this']) {
        await search(page, text);
        expect.soft(await violations(page), text).toEqual([]);
        const box = await dialog(page).boundingBox();
        expect(box?.x).toBeGreaterThanOrEqual(0);
        expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(740);
        if (width < 768) {
          for (const each of await options(page).all()) {
            expect((await each.boundingBox())?.height).toBeGreaterThanOrEqual(44);
          }
        }
        await page.keyboard.press('Escape');
        // The close event fires after the key event.
        await expect(page.locator('dialog [role=combobox]')).toHaveCount(0);
      }
      expect(refused).toEqual([]);
    });
  });
}
