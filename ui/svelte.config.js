// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('src', import.meta.url));
const files = readdirSync(source, { recursive: true }).map(String).sort();
const components = files.filter((file) => file.endsWith('.svelte'));

/** @type {import('@sveltejs/vite-plugin-svelte').SvelteConfig} */
export default {
  compilerOptions: {
    runes: true,
    // Each element and rule has the class, so short names save kilobytes of flash.
    cssHash: ({ hash, css, filename }) => {
      const number = components.findIndex((each) => filename.endsWith(`/${each}`));
      return `s${number < 0 ? `-${hash(css)}` : number.toString(36)}`;
    },
    // Builds nodes one by one: the policy requires Trusted Types, so the page must not parse HTML.
    fragments: 'tree',
  },
};
