// SPDX-License-Identifier: GPL-2.0-or-later
/** Entry of the built page: loads `mount.ts`, the style sheet and the font in parallel. */

import './base.css';
import './app.css';
import './touch.css';
import { loadFont } from './lib/shell/font';
import { fetchSheet } from './lib/shell/sheets';
import type { mount as mountApp } from './mount';

// The build merges all styles into one file next to this one. Common rules come first, because
// components override them. Vite would treat `new URL(…, import.meta.url)` as an asset.
const here = import.meta.url;
type Arguments = Parameters<typeof mountApp>;

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
