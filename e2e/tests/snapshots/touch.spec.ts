// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, test, type Page } from '@playwright/test';
import { replay } from './replay';
import { entered, screens, shown } from './screens';

/** Minimum width and height of a tap target, in CSS pixels. */
const MIN_PX = 44;

test.use({
  locale: 'en-GB',
  viewport: { width: 360, height: 740 },
  hasTouch: true,
  isMobile: true,
});

async function open(page: Page, screen: string): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  const { awaited } = await replay(page);
  await entered(page);
  await page.goto(`#/${screens[screen] ?? screen}`);
  await shown(page);
  const questions = () => awaited(screen);
  await expect.poll(questions, { intervals: [100], timeout: 15_000 }).toEqual([]);
}

/**
 * Runs in the page: returns the controls that are smaller than `least`, including their labels.
 * Links in a sentence are exempt, as in WCAG 2.5.8.
 */
function small(least: number): string[] {
  const root = document.querySelector('.fastpath')?.getRootNode() as Document;
  const kinds =
    'a[href], button, input, select, textarea, summary, [role=button], [role=option], label.button';
  const seen = (each: HTMLElement) => {
    const { width, height } = each.getBoundingClientRect();
    return each.checkVisibility({ visibilityProperty: true }) && width > 1 && height > 1;
  };
  const inSentence = (each: HTMLElement) => {
    const around = each.closest('p, dd, li')?.textContent?.trim() ?? '';
    const own = each.textContent?.trim() ?? '';
    return each.localName === 'a' && around.length > own.length && each.closest('p, dd') !== null;
  };
  const size = (each: HTMLElement) => {
    const labels = each instanceof HTMLInputElement ? [...(each.labels ?? [])] : [];
    // Only a surrounding label is a tap target, not text above a field.
    const around = labels.filter((label) => label.contains(each));
    // The whole row of a flow is a tap target.
    const cell = each.closest('[role=cell]');
    const row = cell ? each.closest('[role=row]') : null;
    const parts = [each, ...around, ...(row ? [row] : [])];
    const boxes = parts.map((part) => part.getBoundingClientRect());
    const of = (way: 'width' | 'height') => Math.max(...boxes.map((box) => box[way]));
    return [of('width'), of('height')] as const;
  };
  return [...root.querySelectorAll<HTMLElement>(kinds)]
    .filter((each) => seen(each) && !inSentence(each))
    .flatMap((each) => {
      const [width, height] = size(each);
      if (width >= least - 0.01 && height >= least - 0.01) return [];
      const name = each.getAttribute('aria-label') ?? each.textContent?.trim().slice(0, 40);
      return [`${each.localName} “${name}” ${Math.round(width)}×${Math.round(height)}`];
    });
}

test('rows of flows are tall enough on a tablet', async ({ page }) => {
  await page.setViewportSize({ width: 900, height: 740 });
  await open(page, 'flows');
  expect(await page.evaluate(small, MIN_PX)).toEqual([]);
});

for (const screen of Object.keys(screens)) {
  test(`tap targets on ${screen} are at least ${MIN_PX} px`, async ({ page }) => {
    await open(page, screen);
    expect(await page.evaluate(small, MIN_PX)).toEqual([]);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(360);
  });
}
