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
    // Classes are written with every element and rule: a short name is some kilobytes of flash.
    cssHash: ({ hash, css, filename }) => {
      const number = components.findIndex((each) => filename.endsWith(`/${each}`));
      return `s${number < 0 ? `-${hash(css)}` : number.toString(36)}`;
    },
    // Build nodes one by one instead of parsing HTML: the content security policy
    // asks for Trusted Types, and a router's page has no need to parse markup at run time.
    fragments: 'tree',
  },
};
