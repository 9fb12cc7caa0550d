// SPDX-License-Identifier: GPL-2.0-or-later
/** Entry of the built page: loads `mount.ts` and the style sheet at once. */

import './base.css';
import './app.css';
import './touch.css';
import { loadFont } from './lib/shell/font';
import { fetchSheet } from './lib/shell/sheets';
import type { mount as mountApp } from './mount';

// All style is built into one file next to this one; the common rules come first, since those of
// components are meant to prevail. Not in one expression, which Vite would take as a source.
const here = import.meta.url;
type Arguments = Parameters<typeof mountApp>;

/** The interface for a host page; see `mount.ts`. */
export async function mount(
  target: Arguments[0],
  options?: Arguments[2],
): ReturnType<typeof mountApp> {
  const [page, sheet] = await Promise.all([
    import('./mount'),
    fetchSheet(new URL('style.css', here)),
    loadFont(),
  ]);
  return page.mount(target, sheet, options);
}
