// SPDX-License-Identifier: GPL-2.0-or-later
import { provideScripts } from './lib/shell/scripts';
import type { mount as mountApp } from './mount';

// What is built of this is beside them. Not in one expression, which Vite would take as a file.
const here = import.meta.url;
provideScripts(new URL('.', here));

/** What a host page calls; see `mount.ts`. */
export const mount: typeof mountApp = async (target, options) => {
  const page = await import('./mount');
  return page.mount(target, options);
};
