// SPDX-License-Identifier: GPL-2.0-or-later
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import type { Plugin } from 'vite';

const id = 'virtual:words';
const source = join(import.meta.dirname, '../src/lib');

/** The catalogues of each language by the folder they are in: `{de: {overview: '…/de.json'}}`. */
export function catalogues(): Record<string, Record<string, string>> {
  const found: Record<string, Record<string, string>> = {};
  const files = readdirSync(source, { recursive: true }).map(String).sort();
  for (const file of files.filter((each) => /(^|[\\/])[a-z]{2}\.json$/.test(each))) {
    const language = file.slice(-7, -5);
    const part = relative('.', dirname(file)).split(sep).join('/');
    (found[language] ??= {})[part] = join(source, file);
  }
  return found;
}

/** All words of one language, by their parts. */
function wordsOf(parts: Record<string, string>): object {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as object;
  return Object.fromEntries(Object.entries(parts).map(([part, file]) => [part, read(file)]));
}

/**
 * `virtual:words` exports how to fetch each language. In the built page a language is one file,
 * compressed here because uhttpd does not compress: a third of the bytes for the browser, which
 * asks for the one language that it shows.
 */
export function words(): Plugin {
  let built = false;
  return {
    name: 'words',
    configResolved: (config) => void (built = config.command === 'build'),
    resolveId: (name) => (name === id ? `\0${id}` : undefined),
    load(name) {
      if (name !== `\0${id}`) return undefined;
      const all = Object.entries(catalogues());
      if (!built) {
        const each = all.map(([language, parts]) => {
          const text = JSON.stringify(wordsOf(parts));
          return `${language}: () => Promise.resolve(${text})`;
        });
        return `export const languages = {${each.join()}}`;
      }
      const names = all.map(([language, parts]) => {
        const packed = deflateRawSync(JSON.stringify(wordsOf(parts)), { level: 9 });
        const hash = createHash('sha256').update(packed).digest('hex').slice(0, 8);
        const file = `${language}-${hash}.words`;
        this.emitFile({ type: 'asset', fileName: `assets/${file}`, source: packed });
        return `${language}: () => fastpathScript.unpack('${file}').then((words) => words.json())`;
      });
      return `export const languages = {${names.join()}};`;
    },
  };
}
