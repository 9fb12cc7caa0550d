// SPDX-License-Identifier: GPL-2.0-or-later
import type { Locator, Page } from '@playwright/test';
import { CHANGE_MS } from './change';
import { expect, live } from './fixture';

/** Methods to operate the page, implemented by `Keyboard`, `Mouse` and `Touch`. */
export interface Input {
  /** Number of controls used since the login; a field counts once. */
  clicks: number;
  logIn(): Promise<void>;
  go(screen: string): Promise<void>;
  press(target: Locator): Promise<void>;
  /** Moves from the checked radio button to another one of its group. */
  choose(chosen: Locator, wanted: Locator): Promise<void>;
  tick(box: Locator): Promise<void>;
  write(field: Locator, text: string): Promise<void>;
  search(words: string, result: RegExp): Promise<void>;
}

const searchDialog = (page: Page) => page.getByRole('dialog', { name: /^Search/ });

async function loggedIn(page: Page): Promise<void> {
  await expect(page.getByRole('navigation', { name: 'Screens' })).toBeVisible();
  await live(page);
}

async function usable(target: Locator): Promise<void> {
  await expect(target).toBeVisible({ timeout: CHANGE_MS });
  await expect(target).toBeEnabled({ timeout: CHANGE_MS });
}

/** Returns the visible label of a file input; other controls are visible themselves. */
async function visible(target: Locator): Promise<Locator> {
  const isFile = await target.evaluate((each) => each.matches('input[type=file]'));
  return isFile ? target.locator('xpath=ancestor::label') : target;
}

/** Runs in the page: returns why the focused element is not visible, or an empty string. */
function covered(): string {
  const at = document.activeElement;
  // After the last tab stop the focus leaves the page.
  if (!at || at === document.body) return '';
  const { left, right, top, bottom } = at.getBoundingClientRect();
  const html = at.outerHTML.slice(0, 160);
  if (right - left < 1 || bottom - top < 1) return `has no size: ${html}`;
  const inside = [0.1, 0.5, 0.9].flatMap((x) =>
    [0.1, 0.5, 0.9].map((y) => [left + (right - left) * x, top + (bottom - top) * y] as const),
  );
  const shown = inside.some(([x, y]) => {
    const there = document.elementFromPoint(x, y);
    return there && (at.contains(there) || there.contains(at));
  });
  return shown ? '' : `is covered, or outside the window: ${html}`;
}

/** Runs in the page: returns why the focus is not recognizable, or an empty string. */
function unmarked(): string {
  const at = document.activeElement;
  if (!at || at === document.body) return '';
  // The flow table outlines the whole row of the focused button.
  const marked = [at, at.closest('[role=row]')].some((each) => {
    if (!each) return false;
    const { outlineStyle, outlineWidth } = getComputedStyle(each);
    return outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
  });
  return marked ? '' : `has no outline: ${at.outerHTML.slice(0, 160)}`;
}

/** Uses only keys, and checks that the focus is visible at every tab stop. */
export class Keyboard implements Input {
  private static readonly STOPS = 60;
  clicks = 0;

  constructor(private readonly page: Page) {}

  private async reach(target: Locator): Promise<void> {
    this.clicks += 1;
    await usable(target);
    const relation = () =>
      target.evaluate((element) => {
        const at = document.activeElement ?? document.body;
        if (element === at) return 'focused' as const;
        const position = at.compareDocumentPosition(element);
        return position & Node.DOCUMENT_POSITION_PRECEDING ? 'before' : 'after';
      });
    const begin = await relation();
    const key = begin === 'before' ? 'Shift+Tab' : 'Tab';
    for (let stop = 0; (await relation()) !== 'focused'; stop += 1) {
      if (stop === Keyboard.STOPS) throw new Error(`${stop} times ${key} did not reach ${target}`);
      await this.page.keyboard.press(key);
      await expect.poll(() => this.page.evaluate(covered), 'the focused element').toBe('');
      await expect.poll(() => this.page.evaluate(unmarked), 'the focused element').toBe('');
    }
  }

  async logIn(): Promise<void> {
    await this.write(this.page.getByLabel('User name'), 'root');
    await this.write(this.page.getByLabel('Password', { exact: true }), 'fastpath');
    await this.page.keyboard.press('Enter');
    await loggedIn(this.page);
    this.clicks = 0;
  }

  async go(screen: string): Promise<void> {
    await this.search(screen, new RegExp(`^${screen}$`));
    await expect(this.page.getByRole('heading', { level: 1, name: screen })).toBeVisible();
  }

  async press(target: Locator): Promise<void> {
    await this.reach(target);
    await this.page.keyboard.press('Enter');
  }

  async choose(chosen: Locator, wanted: Locator): Promise<void> {
    await this.reach(chosen);
    while (!(await wanted.isChecked())) await this.page.keyboard.press('ArrowRight');
  }

  async tick(box: Locator): Promise<void> {
    await this.reach(box);
    await this.page.keyboard.press('Space');
    await expect(box).toBeChecked();
  }

  async write(field: Locator, text: string): Promise<void> {
    await this.reach(field);
    await this.page.keyboard.press('ControlOrMeta+A');
    await this.page.keyboard.type(text);
    await expect(field).toHaveValue(text);
  }

  async search(words: string, result: RegExp): Promise<void> {
    this.clicks += 1;
    const dialog = searchDialog(this.page);
    await this.page.keyboard.press('ControlOrMeta+K');
    await expect(dialog).toBeVisible();
    await this.page.keyboard.type(words);
    const wanted = dialog.getByRole('option', { name: result }).first();
    await expect(wanted).toBeVisible();
    const selected = () => wanted.getAttribute('aria-selected');
    for (let down = 0; (await selected()) !== 'true'; down += 1) {
      expect(down, `results before ${result}`).toBeLessThan(10);
      await this.page.keyboard.press('ArrowDown');
    }
    await this.page.keyboard.press('Enter');
    await expect(dialog).toBeHidden();
  }
}

/** Steps that mouse and finger share. */
abstract class Pointer implements Input {
  clicks = 0;

  constructor(protected readonly page: Page) {}

  abstract go(screen: string): Promise<void>;
  abstract press(target: Locator): Promise<void>;
  abstract write(field: Locator, text: string): Promise<void>;

  async logIn(): Promise<void> {
    await this.write(this.page.getByLabel('User name'), 'root');
    await this.write(this.page.getByLabel('Password', { exact: true }), 'fastpath');
    await this.press(this.page.getByRole('button', { name: 'Log in' }));
    await loggedIn(this.page);
    this.clicks = 0;
  }

  async choose(_: Locator, wanted: Locator): Promise<void> {
    await this.press(wanted);
  }

  async tick(box: Locator): Promise<void> {
    await this.press(box);
    await expect(box).toBeChecked();
  }

  async search(words: string, result: RegExp): Promise<void> {
    const dialog = searchDialog(this.page);
    await this.press(this.page.getByRole('banner').getByRole('button', { name: 'Search' }));
    await this.write(dialog.getByRole('combobox'), words);
    await this.press(dialog.getByRole('option', { name: result }).first());
    await expect(dialog).toBeHidden();
  }
}

/** Uses only the mouse, and the keyboard to type into the clicked field. */
export class Mouse extends Pointer {
  async go(screen: string): Promise<void> {
    const bar = this.page.getByRole('navigation', { name: 'Screens' });
    await this.press(bar.getByRole('link', { name: screen, exact: true }));
    await expect(this.page.getByRole('heading', { level: 1, name: screen })).toBeVisible();
  }

  async press(target: Locator): Promise<void> {
    this.clicks += 1;
    await usable(target);
    await (await visible(target)).click();
  }

  async write(field: Locator, text: string): Promise<void> {
    await this.press(field);
    await this.page.keyboard.press('ControlOrMeta+A');
    await this.page.keyboard.type(text);
    await expect(field).toHaveValue(text);
  }
}

export const PHONE = { width: 360, height: 740 };
const FINGER_PX = 44;
/** Rounding tolerance, because the page defines sizes in rem. */
const ROUNDING_PX = 0.01;
/** Height of the phone's on-screen keyboard, which covers the lower part of the window. */
const KEYBOARD_PX = 300;

/** Uses only taps; checks the size of each target, and that nothing is wider than the window. */
export class Touch extends Pointer {
  /** Checks the size of a control, including a label or table row around it. */
  private async large(target: Locator): Promise<void> {
    await usable(target);
    await target.scrollIntoViewIfNeeded();
    const { width, height, html } = await target.evaluate((element) => {
      const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])] : [];
      const around = labels.filter((label) => label.contains(element));
      const row = element.closest('[role=cell]') && element.closest('[role=row]');
      const boxes = [element, ...around, ...(row ? [row] : [])].map((each) =>
        each.getBoundingClientRect(),
      );
      return {
        width: Math.max(...boxes.map((box) => box.width)),
        height: Math.max(...boxes.map((box) => box.height)),
        html: element.outerHTML.slice(0, 160),
      };
    });
    expect
      .soft(Math.min(width, height), `${width} × ${height}: ${html}`)
      .toBeGreaterThanOrEqual(FINGER_PX - ROUNDING_PX);
  }

  private async fits(): Promise<void> {
    const wide = await this.page.evaluate(() => document.documentElement.scrollWidth);
    expect.soft(wide, 'the page’s width').toBeLessThanOrEqual(PHONE.width);
  }

  async go(screen: string): Promise<void> {
    const groups: Record<string, string> = {
      Overview: 'Overview',
      Devices: 'Devices',
      Flows: 'Traffic',
      Topology: 'Traffic',
      Protection: 'Security',
    };
    const bar = this.page.getByRole('navigation', { name: 'Screens' });
    const group = bar.getByRole('listitem').filter({ hasText: groups[screen] ?? 'Settings' });
    await this.press(group.locator('> :is(a, button)').first());
    const entry = bar.getByRole('dialog').getByRole('link', { name: screen });
    const heading = this.page.getByRole('heading', { level: 1, name: screen });
    await expect(heading.or(entry).first()).toBeVisible();
    if (await entry.isVisible()) await this.press(entry);
    await expect(heading).toBeVisible();
    await this.fits();
  }

  async press(target: Locator): Promise<void> {
    this.clicks += 1;
    await this.large(target);
    await (await visible(target)).tap();
    await this.fits();
  }

  async write(field: Locator, text: string): Promise<void> {
    await this.press(field);
    await expect(field).toBeFocused();
    await this.page.setViewportSize({ ...PHONE, height: PHONE.height - KEYBOARD_PX });
    // A phone scrolls the field into view when its keyboard opens.
    await field.evaluate((each) => each.scrollIntoView({ block: 'nearest' }));
    await expect.poll(() => this.page.evaluate(covered), 'the focused field').toBe('');
    await this.page.keyboard.press('ControlOrMeta+A');
    await this.page.keyboard.type(text);
    await expect(field).toHaveValue(text);
    await this.fits();
    await this.page.setViewportSize(PHONE);
  }
}
