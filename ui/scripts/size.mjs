// SPDX-License-Identifier: GPL-2.0-or-later
// Fails if the built page exceeds its size limits. uhttpd does not compress, so raw bytes count.
import { readFile, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
/** `npm run build` moves the manifest here because the page is delivered without it. */
const manifest = new URL('../../build/page-manifest.json', import.meta.url);
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

/**
 * Returns the files of the first load: files with a fixed name (document, icon, style, app.js), the
 * chunks they import, one language and the font.
 */
async function firstLoad(files) {
  const chunks = JSON.parse(await readFile(manifest, 'utf8'));
  const sizeOf = (key) => files.find(({ name }) => name === chunks[key].file).size;
  const languages = Object.keys(chunks).filter((key) => key.startsWith('virtual:messages/'));
  const [language] = languages.sort((a, b) => sizeOf(b) - sizeOf(a));
  const keys = new Set(['index.html', language]);
  for (const key of keys) {
    const { isEntry, imports = [], dynamicImports = [] } = chunks[key];
    // Entries import the app dynamically at once; other dynamic imports are screens.
    for (const each of [...imports, ...(isEntry ? dynamicImports : [])]) keys.add(each);
  }
  const names = new Set([...keys].map((key) => chunks[key].file));
  const first = files.filter(
    ({ name }) => names.has(name) || name.endsWith('.woff2') || !name.startsWith('assets/'),
  );
  if (process.argv.includes('-v')) console.log(first.map(({ name }) => name).join('\n'));
  if (first.length < 8) throw new Error(`the first load is only ${first.length} files`);
  return first;
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
