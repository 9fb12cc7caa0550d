// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { Plugin } from 'vite';

const id = 'virtual:messages';
const source = join(import.meta.dirname, '../src/lib');

/** Returns the catalogues by language and folder: `{de: {overview: '…/de.json'}}`. */
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

/** Parts whose English texts the router sends, with their source files of nested keys. */
export const sentByRouter: Readonly<Record<string, string>> = {
  'health/findings': join(
    import.meta.dirname,
    '../../feeds/fastpathd/src/crates/doctor/texts/en.json',
  ),
};

/** Parts of screens and panels that wait for the second script. */
const ofScreens = ['chart', 'devices', 'network', 'wan'];

const isLate = (part: string): boolean =>
  Object.hasOwn(sentByRouter, part) || ofScreens.includes(part);

function messagesOf(parts: Record<string, string>): object {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as object;
  return Object.fromEntries(Object.entries(parts).map(([part, file]) => [part, read(file)]));
}

/**
 * Provides `virtual:messages` with an import function per language. In the built page each language
 * is one script, of which a browser fetches only one. Texts that the router sends in English, and
 * those of some screens, are a second script, fetched after the first screen.
 */
export function messages(): Plugin {
  return {
    name: 'messages',
    resolveId: (name) => (name.startsWith(id) ? `\0${name}` : undefined),
    load(name) {
      if (!name.startsWith(`\0${id}`)) return undefined;
      const all = catalogues();
      if (name === `\0${id}`) {
        const imports = (suffix: string, chosen: string[]) =>
          chosen.map(
            (language) =>
              `${language}: () =>
                import('${id}/${language}${suffix}').then((file) => file.default)`,
          );
        const late = Object.keys(all).filter((language) =>
          Object.keys(all[language] ?? {}).some(isLate),
        );
        return `export const languages = {${imports('', Object.keys(all)).join()}};
          export const lateParts = {${imports('/late', late).join()}};`;
      }
      const [language = '', late] = name.slice(`\0${id}/`.length).split('/');
      const parts = Object.entries(all[language] ?? {}).filter(
        ([part]) => isLate(part) === (late !== undefined),
      );
      return `export default ${JSON.stringify(messagesOf(Object.fromEntries(parts)))};`;
    },
  };
}
