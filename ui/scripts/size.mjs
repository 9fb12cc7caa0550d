// SPDX-License-Identifier: GPL-2.0-or-later
// Fails when the built page is over its budget. uhttpd does not compress, so raw bytes count.
import { readFile, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const limits = { first: 110_000, total: 300_000, files: 30 };

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

/** What a browser fetches before the page shows: the document, what it and its scripts need. */
async function firstLoad(files) {
  const seen = new Set(['index.html']);
  for (const name of seen) {
    if (name.endsWith('.css')) continue;
    const text = await readFile(join(dist, name), 'utf8');
    for (const file of files) {
      const base = file.name.split('/').at(-1);
      const imported = name === 'index.html' ? text.includes(base) : importsOf(text).has(base);
      if (imported) seen.add(file.name);
    }
  }
  // And the words of one language, which its scripts ask for before anything is shown.
  const [words] = files
    .filter((file) => file.name.endsWith('.words'))
    .sort((a, b) => b.size - a.size);
  if (!words) throw new Error(`there are no words in ${dist}`);
  return [...files.filter((file) => seen.has(file.name)), words];
}

/** Static imports only: a dynamic import(`…`) is what a screen loads later. */
function importsOf(text) {
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*["'`]([^"'`]+)["'`]/g);
  return new Set([...found].map((match) => match[1].split('/').at(-1)));
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
