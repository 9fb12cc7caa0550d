// SPDX-License-Identifier: GPL-2.0-or-later
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { deflateRawSync } from 'node:zlib';
import type { Plugin } from 'vite';

const id = 'virtual:packed';
const source = join(import.meta.dirname, '../src');
/** By number: other plugins would take a name with `.svelte` or `.css` in it for their own. */
const prefix = '\0sheet:';
const hole = '__PACKED_FILE__';

/** A component's templates are known by its place in this list, and by theirs in the component. */
const components = readdirSync(source, { recursive: true })
  .map((file) => join(source, String(file)))
  .filter((file) => file.endsWith('.svelte'))
  .sort();

interface Call {
  start: number;
  end: number;
  callee: { start: number; end: number };
  arguments: { start: number; end: number }[];
}

interface Declared {
  type: string;
  declarations?: { init: (Call & { type: string }) | null }[];
}

/** `$.from_tree([…], flags)` at the top of what the compiler made of a component. */
function templatesOf(body: Declared[], code: string): Call[] {
  const inits = body.flatMap((each) => each.declarations ?? []).map((each) => each.init);
  return inits.filter(
    (init) =>
      init?.type === 'CallExpression' &&
      code.slice(init.callee.start, init.callee.end) === '$.from_tree',
  ) as Call[];
}

/** JSON has no holes, which stand for anchors in a tree: an empty comment is one too. */
function filled(tree: unknown): unknown {
  if (!Array.isArray(tree)) return tree;
  return Array.from(tree, (each: unknown) => (each === undefined ? ['/'] : filled(each)));
}

/**
 * All style sheets and all templates of the page become one compressed file, which the page
 * fetches beside its words: uhttpd compresses nothing, and inside scripts they were a third of
 * the bytes. Scripts keep the number of each template.
 */
export function packed(): Plugin {
  let built = false;
  const files: string[] = [];
  const sheets = new Map<string, string>();
  const trees: unknown[][] = [];
  let file = '';
  let bytes: Buffer = Buffer.of();

  function pack(): string {
    // The common rules first: those of components are meant to prevail over them.
    const rank = (name: string) => Number(!name.endsWith('/app.css?inline')) + name;
    const names = [...sheets.keys()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
    const style = names.map((name) => sheets.get(name)).join('');
    bytes = deflateRawSync(JSON.stringify({ style, trees }), { level: 9 });
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8);
    return `page-${hash}.packed`;
  }

  return {
    name: 'packed',
    enforce: 'pre',
    configResolved: (config) => void (built = config.command === 'build'),
    async resolveId(name, importer) {
      if (name === id) return `\0${id}`;
      if (!built || !/\.css$/.test(name) || /[?&]inline\b/.test(name)) return undefined;
      const found = await this.resolve(name, importer, { skipSelf: true });
      if (!found) return undefined;
      if (!files.includes(found.id)) files.push(found.id);
      return prefix + files.indexOf(found.id);
    },
    load(name) {
      const sheet = name.startsWith(prefix) ? files[Number(name.slice(prefix.length))] : undefined;
      if (sheet !== undefined) {
        // As a text, or it would become a file of its own.
        const [path = '', query] = sheet.split('?', 2);
        const text = JSON.stringify(`${path}?inline${query ? `&${query}` : ''}`);
        return { code: `import ${text};`, moduleSideEffects: true };
      }
      if (name !== `\0${id}`) return undefined;
      if (!built) return `export const fetchPacked = () => Promise.resolve(undefined);`;
      return `
        import { from_tree } from 'svelte/internal/client';
        let trees;
        export const fetchPacked = async () => {
          const page = await (await fastpathScript.unpack('${hole}')).json();
          trees = page.trees;
          return page.style;
        };
        /** A script is there before the file is: the template is made when it is first used. */
        export const template = (component, number, flags) => {
          let make;
          return () => (make ??= from_tree(trees[component][number], flags))();
        };`;
    },
    transform: {
      order: 'post',
      handler(code, name) {
        if (!built) return undefined;
        if (/\?inline\b/.test(name)) {
          const text = code.match(/^export default (".*")/s)?.[1];
          if (text === undefined) throw new Error(`${name} is no text: ${code.slice(0, 80)}`);
          sheets.set(name, JSON.parse(text) as string);
          return 'export default undefined;';
        }
        const component = components.indexOf(name);
        if (component < 0) return undefined;
        const calls = templatesOf(this.parse(code).body as unknown as Declared[], code);
        trees[component] = calls.map(({ arguments: [tree] }) =>
          filled(runInNewContext(code.slice(tree?.start, tree?.end))),
        );
        calls.reverse().forEach((call, i) => {
          const [tree] = call.arguments;
          const number = calls.length - 1 - i;
          const rest = code.slice(tree?.end, call.end);
          const made = `template(${component}, ${number}${rest}`;
          code = code.slice(0, call.start) + made + code.slice(call.end);
        });
        return calls.length > 0 ? `import { template } from '${id}';\n${code}` : undefined;
      },
    },
    renderChunk(code) {
      if (!code.includes(hole)) return undefined;
      file = pack();
      return code.replace(hole, file);
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: `assets/${file}`, source: bytes });
    },
  };
}
