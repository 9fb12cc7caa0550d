// SPDX-License-Identifier: GPL-2.0-or-later
import { resolve } from 'node:path';
import type { Plugin } from 'vite';

const adopt = resolve(import.meta.dirname, '../src/lib/shell/sheets.ts');
const prefix = '\0sheet:';

/**
 * Style sheets become part of the scripts that need them, which hand them to `adopt`. A host page
 * has the app in a shadow root, where a link in the document's head does not reach.
 */
export function sheets(): Plugin {
  /** By number: other plugins would take a name with `.svelte` or `.css` in it for their own. */
  const files: string[] = [];
  return {
    name: 'sheets',
    apply: 'build',
    enforce: 'pre',
    async resolveId(name, importer) {
      if (!/\.css$/.test(name) || /[?&]inline\b/.test(name)) return undefined;
      const found = await this.resolve(name, importer, { skipSelf: true });
      if (!found) return undefined;
      if (!files.includes(found.id)) files.push(found.id);
      return prefix + files.indexOf(found.id);
    },
    load(name) {
      const file = name.startsWith(prefix) ? files[Number(name.slice(prefix.length))] : undefined;
      if (file === undefined) return undefined;
      const [path = '', query] = file.split('?', 2);
      const text = JSON.stringify(`${path}?inline${query ? `&${query}` : ''}`);
      const code = `
        import text from ${text};
        import { adopt } from ${JSON.stringify(adopt)};
        adopt(text, ${query === undefined && file.endsWith('/app.css')});`;
      return { code, moduleSideEffects: true };
    },
  };
}
