// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vitest/config';
import { inlineStyles } from './build/inline-styles.ts';
import { messages } from './build/messages.ts';
import { staticIcons } from './build/static-icons.ts';

// The page's address: only its origin counts.
const router = new URL(process.env['FASTPATH_URL'] ?? 'http://127.0.0.1:8080').origin;

/**
 * The policy goes into a meta tag because uhttpd cannot add headers. It is left out of the
 * development server, whose live reload needs inline styles and a web socket.
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

/** `src/app.ts` fetches the style, for a shadow root as well: no link in the document. */
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

/** The font's licence goes with it. */
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

/** Loaded at once; what only some parts use is in their own files. */
const shared = [
  /node_modules\/(svelte|esm-env|clsx|@lucide)\//,
  /src\/((?:base|app)\.css$|lib\/(api|i18n|session|shell)\/)/,
];

/** Health and protection at a glance: for the head of the page, the Overview, their screens. */
const glance = [
  /src\/lib\/health\/(verdict|Sign|Watch|health|live|report)/,
  /src\/lib\/protection\/(StateTag|view)/,
];

/** Forms and charts: for most screens but Flows. */
const parts = [
  /src\/lib\/(form|chart|format\/\w+\.svelte$|live\/poll)/,
  /src\/lib\/(protection\/(setup\/(OnOff|StatusSwitch)|RulesNote)|overview\/engine|help\/Keys)/,
];

export default defineConfig({
  base: './',
  plugins: [
    inlineStyles(),
    staticIcons(),
    messages(),
    svelte(),
    contentSecurityPolicy(),
    adoptedStyle(),
    fontLicence(),
  ],
  build: {
    target: 'es2022',
    // These know light-dark(); for older ones each colour would be written twice.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    sourcemap: false,
    // Screens are fetched one by one: the loader that names their parts was kilobytes.
    modulePreload: false,
    // For all screens: app.js fetches it, see there.
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rolldownOptions: {
      // app.js keeps its name and its export for a host page that mounts the app itself.
      input: { index: 'index.html', app: 'src/app.ts' },
      preserveEntrySignatures: 'exports-only',
      output: {
        entryFileNames: (chunk) => (chunk.name === 'app' ? 'app.js' : 'assets/[name]-[hash].js'),
        chunkFileNames: 'assets/[name]-[hash].js',
        codeSplitting: {
          // Code that several screens share, as one file instead of a dozen with a head each.
          groups: [
            {
              name: 'base',
              // The common style too: the order of scripts is that of the rules.
              test: (id) => shared.some((each) => each.test(id)),
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
    // On a busy machine a test takes many times as long as here.
    testTimeout: 60_000,
    // Loading the modules again for each file took two thirds of the time.
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
        // Of a package's files those for browsers: on a server `untrack` of Svelte tracks.
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
