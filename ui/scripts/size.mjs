// SPDX-License-Identifier: GPL-2.0-or-later
// Fails when the built page is over its budget. uhttpd does not compress, so raw bytes count.
import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const limits = { first: 350_000, total: 1_500_000, files: 30 };

async function filesBelow(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return { name: relative(dist, path), size: (await stat(path)).size };
    }),
  );
}

/** The scripts that one imports at its start; `at: 'once'`: also those that it asks for. */
function importsOf(text, at) {
  const whole = /\b(?:from|import)\s*["'`](\.{1,2}\/[\w./-]+)["'`]/g;
  const asked = /\bimport\(\s*["'`](\.{1,2}\/[\w./-]+)["'`]\s*\)/g;
  const found = [...text.matchAll(whole), ...(at === 'once' ? text.matchAll(asked) : [])];
  return found.map((match) => basename(match[1]));
}

/**
 * Files that a browser fetches before the page shows: the document, its icon, the first scripts
 * with all that they import, the style, one language. A screen comes later.
 */
async function firstLoad(files) {
  const named = (name) => files.find((file) => basename(file.name) === name);
  const languages = files.filter((file) => /^assets\/[a-z]{2}-.*\.js$/.test(file.name));
  const [language] = languages.sort((a, b) => b.size - a.size);
  const seen = new Set([named('index.html'), named('style.css'), language]);
  for (const file of seen) {
    if (!file) throw new Error(`the page in ${dist} is not whole`);
    const text = await readFile(join(dist, file.name), 'utf8');
    if (file.name === 'index.html') {
      for (const [, name] of text.matchAll(/\b(?:src|href)="([^"]+)"/g)) {
        seen.add(named(basename(name)));
      }
    } else if (file.name.endsWith('.js')) {
      // The document's script and app.js ask for the app at once, others for a screen.
      const at = /^(app|assets\/index-.*)\.js$/.test(file.name) ? 'once' : 'start';
      for (const name of importsOf(text, at)) seen.add(named(name));
    }
  }
  if (process.argv.includes('-v')) console.log([...seen].map((file) => file.name).join('\n'));
  if (seen.size < 8) throw new Error(`the first load is only ${seen.size} files`);
  return [...seen];
}

const sum = (files) => files.reduce((total, file) => total + file.size, 0);

const files = await filesBelow(dist);
const measured = { first: sum(await firstLoad(files)), total: sum(files), files: files.length };
const maps = files.filter((file) => file.name.endsWith('.map'));

console.log(`first load ${measured.first} of ${limits.first} bytes`);
console.log(`dist       ${measured.total} of ${limits.total} bytes`);
console.log(`files      ${measured.files} of ${limits.files}`);
const over = Object.keys(limits).filter((key) => measured[key] > limits[key]);
if (maps.length > 0) over.push('source maps');
if (over.length > 0) {
  console.error(`over budget: ${over.join(', ')}`);
  process.exit(1);
}
