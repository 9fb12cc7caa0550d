// SPDX-License-Identifier: GPL-2.0-or-later
// SPDX licence expressions, and the licences allowed for each use.
//
// Our programs are GPL-2.0-or-later and the eBPF programs GPL-2.0, so linked code must be
// compatible with GPL version 2. Apache-2.0 alone is refused, because it is compatible only with
// version 3.

/** Licences allowed in a program under GPL version 2. */
const WITH_GPL2 = new Set([
  '0BSD',
  'BSD-1-Clause',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BSL-1.0',
  'CC0-1.0',
  'GPL-2.0-only',
  'GPL-2.0-or-later',
  'ISC',
  'LGPL-2.0-or-later',
  'LGPL-2.1-only',
  'LGPL-2.1-or-later',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'Unicode-3.0',
  'Unicode-DFS-2016',
  'Unlicense',
  'Zlib',
  // The exception makes Apache-2.0 compatible with GPL version 2.
  'Apache-2.0 WITH LLVM-exception',
]);

/** Free licences, allowed for tools at build time and in tests. */
const FREE = new Set([
  ...WITH_GPL2,
  'Apache-2.0',
  'BlueOak-1.0.0',
  'GPL-3.0-only',
  'GPL-3.0-or-later',
  'LGPL-3.0-only',
  'LGPL-3.0-or-later',
  'NCSA',
  'Python-2.0',
]);

/** Licences allowed for fonts, which are not part of a program. */
const OF_FONTS = new Set([...FREE, 'OFL-1.1']);

/** Normalizes spaces, and `MIT/Apache-2.0` of older crates, which means OR. */
export function normal(text) {
  return text
    .trim()
    .replace(/\s*\/\s*/g, ' OR ')
    .replace(/\s+/g, ' ');
}

/** Parses TEXT to a tree of {any: […]}, {all: […]} and names. Throws if TEXT is invalid. */
export function parse(text) {
  const words = normal(text).match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const fail = (why) => {
    throw new Error(`'${text}' is not an SPDX expression: ${why}`);
  };
  const list = (word, kind, part) => () => {
    const parts = [part()];
    while (words[at] === word) {
      at += 1;
      parts.push(part());
    }
    return parts.length === 1 ? parts[0] : { [kind]: parts };
  };
  const name = () => {
    const word = words[at];
    at += 1;
    if (word === '(') {
      const inner = any();
      if (words[at] !== ')') fail("a ')' is missing");
      at += 1;
      return inner;
    }
    if (word === undefined || !/^[A-Za-z0-9][A-Za-z0-9.+-]*$/.test(word)) {
      fail(word === undefined ? 'it ends early' : `unexpected '${word}'`);
    }
    if (['AND', 'OR', 'WITH'].includes(word)) fail(`a licence is missing before '${word}'`);
    if (words[at] !== 'WITH') return word;
    at += 2;
    return `${word} WITH ${words[at - 1]}`;
  };
  const any = list('OR', 'any', list('AND', 'all', name));
  const tree = any();
  if (at !== words.length) fail(`unexpected '${words[at]}'`);
  return tree;
}

function holds(tree, set) {
  if (tree.any) return tree.any.some((part) => holds(part, set));
  if (tree.all) return tree.all.every((part) => holds(part, set));
  return set.has(tree) || (!tree.includes(' ') && set.has(tree.replace(/\+$/, '-or-later')));
}

export function refusal(licence, use) {
  if (!licence) return 'it names no licence';
  let tree;
  try {
    tree = parse(licence);
  } catch (error) {
    return error.message;
  }
  if (use === 'linked') {
    return holds(tree, WITH_GPL2) ? undefined : `${licence} does not go with GPL-2.0 where we link`;
  }
  const free = use === 'font' ? OF_FONTS : FREE;
  return holds(tree, free) ? undefined : `${licence} is not known to be free`;
}
