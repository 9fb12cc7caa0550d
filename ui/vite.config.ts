// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vitest/config';
import { icons } from './build/icons.ts';
import { messages } from './build/messages.ts';

// Origin of the router, for the ubus proxy of the development server.
const router = new URL(process.env['FASTPATH_URL'] ?? 'http://127.0.0.1:8080').origin;

/**
 * In a meta tag, because uhttpd cannot add headers. The development server omits the policy: live
 * reload needs inline styles and a WebSocket.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svelte-trusted-html',
].join('; ');

function contentSecurityPolicy(): Plugin {
  return {
    name: 'content-security-policy',
    apply: 'build',
    transformIndexHtml: () => [
      {
        tag: 'meta',
        attrs: { 'http-equiv': 'Content-Security-Policy', content: policy },
        injectTo: 'head-prepend',
      },
    ],
  };
}

/** Removes the link to the style sheet, which `src/app.ts` fetches for shadow roots. */
function adoptedStyle(): Plugin {
  return {
    name: 'adopted-style',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (html) => html.replace(/ *<link rel="stylesheet"[^>]*>\n?/, ''),
    },
  };
}

function fontLicence(): Plugin {
  const file = new URL('node_modules/@fontsource-variable/inter/LICENSE', import.meta.url);
  return {
    name: 'font-licence',
    apply: 'build',
    generateBundle() {
      const source = readFileSync(file, 'utf8');
      this.emitFile({ type: 'asset', fileName: 'assets/inter-LICENSE.txt', source });
    },
  };
}

/** Icons of kinds of devices, which are loaded with their screen. */
const kinds = [
  ...['cctv', 'gamepad-2', 'laptop', 'monitor', 'printer', 'router', 'smartphone'],
  ...['speaker', 'tablet', 'tv', 'washing-machine'],
].map((name) => `/${name}.svg`);

/** Modules of the first load. */
const shared = [
  /node_modules\/(svelte|esm-env|clsx|lucide-static)\//,
  /src\/((?:base|app)\.css$|lib\/(api|i18n|session|shell)\/)/,
];

/** State of health and protection in the header, on the Overview and on their screens. */
const glance = [
  /src\/lib\/health\/(verdict|Sign|Watch|health|live|report)/,
  /src\/lib\/protection\/(StateTag|view)/,
];

/** Forms and charts, which most screens use. */
const parts = [
  /src\/lib\/(form|chart|format\/\w+\.svelte$|live\/poll)/,
  /src\/lib\/(protection\/(setup\/(OnOff|StatusSwitch)|RulesNote)|overview\/engine|help\/Keys)/,
  /src\/lib\/(devices\/(devices|link|owners|messages)|search\/rank|protection\/verbs)/,
];

export default defineConfig({
  base: './',
  plugins: [
    icons(),
    messages(),
    svelte({ extensions: ['.svelte', '.svg'] }),
    contentSecurityPolicy(),
    adoptedStyle(),
    fontLicence(),
  ],
  build: {
    target: 'es2022',
    // Older browsers lack light-dark(), for which each colour would be written twice.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    sourcemap: false,
    // A preload list of the parts of all screens would take kilobytes.
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rolldownOptions: {
      // Host pages import app.js by its name.
      input: { index: 'index.html', app: 'src/app.ts' },
      preserveEntrySignatures: 'exports-only',
      output: {
        entryFileNames: (chunk) => (chunk.name === 'app' ? 'app.js' : 'assets/[name]-[hash].js'),
        chunkFileNames: 'assets/[name]-[hash].js',
        codeSplitting: {
          // One file of shared code instead of a dozen small ones.
          groups: [
            {
              name: 'base',
              // Includes the common style: the order of scripts is the order of CSS rules.
              test: (id) =>
                shared.some((each) => each.test(id)) && !kinds.some((each) => id.endsWith(each)),
              priority: 1,
            },
            { name: 'glance', test: (id) => glance.some((each) => each.test(id)) },
            { name: 'parts', test: (id) => parts.some((each) => each.test(id)) },
            {
              name: 'setup',
              test: /src\/lib\/(network|wan|fastpath|firewall|cpu|export|system|wizard)\//,
            },
          ],
        },
        assetFileNames: (asset) =>
          asset.names.includes('style.css') ? 'style.css' : 'assets/[name]-[hash][extname]',
      },
    },
  },
  server: { host: '127.0.0.1', proxy: { '/ubus': { target: router, changeOrigin: true } } },
  test: {
    setupFiles: ['src/lib/i18n/setup.ts'],
    testTimeout: 60_000,
    // Isolation reloads the modules for each file, which takes two thirds of the time.
    isolate: false,
    reporters: ['default', ['junit', { outputFile: '../build/reports/junit/page.xml' }]],
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          environment: 'node',
          include: ['src/**/*.test.ts'],
          exclude: ['src/**/*.svelte.test.ts'],
        },
      },
      {
        extends: true,
        // Selects the browser builds of packages; in Svelte's server build `untrack` tracks.
        resolve: { conditions: ['browser'] },
        test: {
          name: 'runes',
          environment: './build/browser-environment.ts',
          server: { deps: { inline: ['svelte'] } },
          include: ['src/**/*.svelte.test.ts'],
        },
      },
    ],
  },
});
