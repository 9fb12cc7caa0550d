// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CDPSession, Page } from '@playwright/test';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// `preload` would fetch style sheets, which the page's policy refuses. In LuCI only the app is
// checked, not the page around it.
const check = `axe.run(document.querySelector('.fastpath-app') ?? document, {
  preload: false,
  resultTypes: ['violations'],
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}).then((result) => JSON.stringify(result.violations.map((each) => ({
  rule: each.id, help: each.help, nodes: each.nodes.map((node) => node.html.slice(0, 200)),
}))))`;

export interface Violation {
  rule: string;
  help: string;
  nodes: string[];
}

async function evaluate(cdp: CDPSession, contextId: number, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = await cdp.send('Runtime.evaluate', {
    contextId,
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'axe failed');
  return result.value;
}

/**
 * Returns a window height that needs no scrolling: axe measures targets under sticky headers
 * incorrectly. Limited, because a virtual table is as long as its data.
 */
function fullHeight(): number {
  const hidden = [...document.querySelectorAll('*')].map((each) =>
    each.clientHeight > 0 ? each.scrollHeight - each.clientHeight : 0,
  );
  return window.innerHeight + Math.min(Math.max(...hidden), 4000);
}

/** Returns the violations that axe finds. An isolated world keeps the page's policy in force. */
export async function violations(page: Page): Promise<Violation[]> {
  const window = page.viewportSize();
  if (!window) throw new Error('the page has no window of a fixed size');
  await page.setViewportSize({ ...window, height: await page.evaluate(fullHeight) });
  const cdp = await page.context().newCDPSession(page);
  try {
    const { frameTree } = await cdp.send('Page.getFrameTree');
    const { executionContextId } = await cdp.send('Page.createIsolatedWorld', {
      frameId: frameTree.frame.id,
      worldName: 'axe',
    });
    await evaluate(cdp, executionContextId, source);
    return JSON.parse(String(await evaluate(cdp, executionContextId, check))) as Violation[];
  } finally {
    await cdp.detach();
    await page.setViewportSize(window);
  }
}
