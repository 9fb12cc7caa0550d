// SPDX-License-Identifier: GPL-2.0-or-later
// Fails when the built page is over its budget. uhttpd does not compress, so raw bytes count.
import { readFile, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateRawSync } from 'node:zlib';

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

/** A script as it is run: compressed ones with the names of others between marks. */
async function scriptOf(name) {
  const bytes = await readFile(join(dist, name));
  return name.endsWith('.script') ? inflateRawSync(bytes).toString() : bytes.toString();
}

/** What a browser fetches before the page shows: the document, what it and its scripts need. */
async function firstLoad(files) {
  const seen = new Set(['index.html']);
  for (const name of seen) {
    if (!/\.(html|js|script)$/.test(name)) continue;
    const text = await scriptOf(name);
    // What a first script asks for by the loader is needed at once; of others, a screen is.
    const needed = [
      ...text.matchAll(/["'`/]([\w.-]+\.(?:js|svg))["'`]/g),
      ...[...text.matchAll(/\0([\w.-]+)\0/g)].filter((match) => !match[1].endsWith('.js')),
      ...(name.endsWith('.js') ? text.matchAll(/fastpathScript\("([\w.-]+)"\)/g) : []),
    ].map((match) => match[1]);
    for (const { name: file } of files) {
      const base = file.split('/').at(-1);
      if (needed.some((each) => base === each || base === `${each}.script`)) seen.add(file);
    }
  }
  // And what its scripts ask for before anything is shown: the look, and one language's words.
  const packed = ['.packed', '.words'].map((kind) => {
    const [largest] = files
      .filter((file) => file.name.endsWith(kind))
      .sort((a, b) => b.size - a.size);
    if (!largest) throw new Error(`there is no *${kind} in ${dist}`);
    return largest;
  });
  if (process.argv.includes('-v')) console.log([...seen].join('\n'));
  if (seen.size < 5) throw new Error(`the first load is only ${[...seen].join(', ')}`);
  return [...files.filter((file) => seen.has(file.name)), ...packed];
}

/** Bytes that a browser runs and wears: what uhttpd sends, unpacked. */
async function unpacked(name) {
  const bytes = await readFile(join(dist, name));
  return /\.(script|packed|words)$/.test(name) ? inflateRawSync(bytes).length : bytes.length;
}

const sum = (files) => files.reduce((total, file) => total + file.size, 0);

const files = await filesBelow(dist);
const whole = await Promise.all(files.map(({ name }) => unpacked(name)));
const measured = { first: sum(await firstLoad(files)), total: sum(files), files: files.length };
const maps = files.filter((file) => file.name.endsWith('.map'));

console.log(`first load ${measured.first} of ${limits.first} bytes`);
console.log(`dist       ${measured.total} of ${limits.total} bytes`);
console.log(`unpacked   ${whole.reduce((total, size) => total + size, 0)} bytes`);
console.log(`files      ${measured.files} of ${limits.files}`);
const over = Object.keys(limits).filter((key) => measured[key] > limits[key]);
if (maps.length > 0) over.push('source maps');
if (over.length > 0) {
  console.error(`over budget: ${over.join(', ')}`);
  process.exit(1);
}
