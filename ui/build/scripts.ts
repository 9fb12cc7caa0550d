// SPDX-License-Identifier: GPL-2.0-or-later
import { deflateRawSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Stands around the name of another script; `src/lib/shell/scripts.ts` reads it. */
const MARK = '\0';
const name = /["'`]\.\/([\w.-]+)\.js["'`]/.source;
const dynamic = new RegExp(String.raw`\bimport\(\s*${name}\s*\)`, 'g');
const fixed = new RegExp(String.raw`(\bfrom|\bimport)\s*${name}`, 'g');

/** What must not be left of imports. */
const unknown = /\bimport\(.{40}|\bimport\.meta|["'`]\.{1,2}\/[\w.-]+\.js/;

/** Vite's own call around an import has nothing to load ahead: all that is left is the import. */
const withLoader = (code: string) =>
  code
    .replaceAll(/,(?:\[\]|void 0),import\.meta\.url\)/g, ')')
    .replace(dynamic, 'fastpathScript("$1")');

/**
 * All scripts but the first become compressed files, since uhttpd compresses nothing: a third of
 * the bytes. `src/app.ts` fetches them and makes modules of their texts, which is why the page's
 * policy allows scripts from blobs; only a script that is already there can make one.
 */
export function scripts(): Plugin {
  return {
    name: 'scripts',
    apply: 'build',
    enforce: 'post',
    // After Vite has written what is to be loaded ahead, which is nothing.
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const chunks = Object.values(bundle).filter((each) => each.type === 'chunk');
        const first = new Set(chunks.filter((each) => each.isEntry).map((each) => each.fileName));
        const waits = new Map(chunks.map((each) => [each.fileName, each.imports]));
        for (const each of first) for (const next of waits.get(each) ?? []) first.add(next);
        for (const chunk of chunks) {
          if (first.has(chunk.fileName)) {
            chunk.code = withLoader(chunk.code);
            continue;
          }
          // One that waits for itself would never be there.
          const needs = new Set(chunk.imports);
          for (const each of needs) for (const next of waits.get(each) ?? []) needs.add(next);
          if (needs.has(chunk.fileName)) this.error(`${chunk.fileName} imports itself by others`);
          const code = withLoader(chunk.code).replace(fixed, (_, how: string, other: string) => {
            const plain = first.has(`assets/${other}.js`);
            return `${how}"${MARK}${other}${plain ? '.js' : ''}${MARK}"`;
          });
          const [strange] = unknown.exec(code) ?? [];
          if (strange) this.error(`${chunk.fileName} imports in an unknown way: ${strange}`);
          this.emitFile({
            type: 'asset',
            fileName: chunk.fileName.replace(/\.js$/, '.script'),
            source: deflateRawSync(code, { level: 9 }),
          });
          Reflect.deleteProperty(bundle, chunk.fileName);
        }
      },
    },
  };
}
