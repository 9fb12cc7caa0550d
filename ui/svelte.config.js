// SPDX-License-Identifier: GPL-2.0-or-later

/** @type {import('@sveltejs/vite-plugin-svelte').SvelteConfig} */
export default {
  compilerOptions: {
    runes: true,
    // Classes are written with every element: a short name is some kilobytes of flash.
    cssHash: ({ hash, css }) => `s${hash(css)}`,
    // Build nodes one by one instead of parsing HTML: the content security policy
    // asks for Trusted Types, and a router's page has no need to parse markup at run time.
    fragments: 'tree',
  },
};
