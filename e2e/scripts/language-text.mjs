// SPDX-License-Identifier: GPL-2.0-or-later
// The English of a file, line by line: comments and strings of source code, prose of Markdown,
// values of catalogues and descriptions of schemas. Identifiers are left out.

const C_LIKE = /\.(rs|ts|svelte|c|h|mjs|js)$/;
const CATALOGUE = /(^|\/)(en|de)\.json$/;
const SCHEMA = /\/schema\/.*\.json$/;

/** Characters of one kind; all others become spaces, so that lines and columns stay. */
function keep(text, spans) {
  let out = '';
  let at = 0;
  for (const [from, to] of spans) {
    out += text.slice(at, from).replaceAll(/[^\n]/g, ' ') + text.slice(from, to);
    at = to;
  }
  return (out + text.slice(at).replaceAll(/[^\n]/g, ' ')).split('\n');
}

/** Where a Rust raw string that begins at `at` ends, or -1. */
function rawEnd(text, at) {
  const begin = /^b?r(#*)"/.exec(text.slice(at, at + 12));
  if (begin === null) return -1;
  const end = text.indexOf(`"${begin[1]}`, at + begin[0].length);
  return end === -1 ? text.length : end + 1 + begin[1].length;
}

/** The end of a string in `quote` whose first character is at `at`. Only some span lines. */
function stringEnd(text, at, quote, lines) {
  for (let next = at; next < text.length; next++) {
    if (text[next] === '\\') next++;
    else if (text[next] === quote) return next;
    else if (text[next] === '\n' && !lines) return next;
  }
  return text.length;
}

function cLike(text, rust) {
  const spans = [];
  let at = 0;
  const ends = (token, from) => {
    const end = text.indexOf(token, from);
    return end === -1 ? text.length : end;
  };
  while (at < text.length) {
    let end = at + 1;
    const two = text.slice(at, at + 2);
    const word = at > 0 && /\w/.test(text[at - 1]);
    if (two === '//' && text[at - 1] !== ':') {
      spans.push([at + 2, (end = ends('\n', at))]);
    } else if (two === '/*') {
      spans.push([at + 2, (end = ends('*/', at))]);
      end += 2;
    } else if (text.startsWith('<!--', at)) {
      spans.push([at + 4, (end = ends('-->', at))]);
    } else if (rust && !word && rawEnd(text, at) !== -1) {
      spans.push([at + 1, (end = rawEnd(text, at))]);
    } else if (text[at] === '"') {
      spans.push([at + 1, (end = stringEnd(text, at + 1, '"', rust))]);
      end++;
    } else if (rust && text[at] === "'") {
      const char = /^'(\\.[^']*|[^\\'])'/.exec(text.slice(at, at + 12));
      if (char !== null) end = at + char[0].length;
    } else if (!rust && text[at] === "'" && !word) {
      spans.push([at + 1, (end = stringEnd(text, at + 1, "'", false))]);
      end++;
    } else if (!rust && text[at] === '`') {
      spans.push([at + 1, (end = stringEnd(text, at + 1, '`', true))]);
      end++;
    }
    at = end;
  }
  return keep(text, spans);
}

/** Comments, and strings that begin and end in one line. */
function shell(text) {
  return text.split('\n').map((line) => {
    const parts = [];
    const found = line.matchAll(/(?:^|\s)#(?!!)(.*)$|"((?:[^"\\]|\\.)*)"|'([^']*)'/g);
    for (const [, comment, double, single] of found) parts.push(comment ?? double ?? single ?? '');
    return parts.join(' ¦ ');
  });
}

/** Without expressions in templates, and paths of files. */
const plain = (line) =>
  line.replaceAll(/\{\w+\}|\$\{[^}]*\}|\$\w+|(?:[\w.@*{}¦-]*\/)+[\w.@*{}-]+\.\w+/g, '¦');

/** Prose and diagrams: no other code blocks, no code in quotes, no addresses of links. */
function markdown(text) {
  let fence = '';
  // Made from a catalogue, which is checked itself.
  const own = text.replace(/<!-- checks -->[^]*<!-- end of checks -->/, (made) =>
    made.replaceAll(/[^\n]/g, ''),
  );
  return own.split('\n').map((line) => {
    const mark = /^\s*```\s*(\w*)/.exec(line);
    if (mark !== null) {
      fence = fence === '' ? mark[1] || 'code' : '';
      return '';
    }
    if (fence !== '' && fence !== 'mermaid') return '';
    return line.replaceAll(/`[^`]*`/g, '¦').replaceAll(/\]\([^)]*\)/g, ']');
  });
}

/** Values of all keys that `wanted` names, each in the line where it is. */
function json(text, wanted) {
  return text.split('\n').map((line) => {
    const entry = /^\s*"((?:[^"\\]|\\.)*)"\s*:\s*(.*)$/.exec(line);
    if (entry === null) return wanted === undefined ? line : '';
    return wanted === undefined || wanted.includes(entry[1]) ? entry[2] : '';
  });
}

/** `[line…]` of the file's text, or null for a kind of file that has none. */
export function textOf(path, text) {
  if (path.endsWith('.md')) return markdown(text);
  if (CATALOGUE.test(path)) return json(text);
  if (SCHEMA.test(path)) return json(text, ['description', 'title']);
  if (C_LIKE.test(path)) return cLike(text, path.endsWith('.rs')).map(plain);
  if (/\.(sh|init|defaults)$/.test(path) || /^#!.*\b(sh|bash)\b/.test(text)) {
    return shell(text).map(plain);
  }
  return null;
}

export const isGerman = (path) => /(^|\/)de\.json$/.test(path);
