// SPDX-License-Identifier: GPL-2.0-or-later
import type { Plugin } from 'vite';

/** `style="a: b; c: d"` of an element; a value with `{` is set by a script already. */
const INLINE = /\sstyle="([^"{}]*)"/g;

/** Inline styles as style directives, which set properties by script. */
export function withoutInlineStyles(markup: string): string {
  return markup.replaceAll(INLINE, (_, list: string) =>
    list
      .split(';')
      .map((each) => /^\s*([\w-]+)\s*:\s*(.+?)\s*$/s.exec(each))
      .map((found) => (found ? ` style:${found[1]}="${found[2]}"` : ''))
      .join(''),
  );
}

/**
 * The page's policy forbids the attribute `style`, but not a property that a script sets: markup of
 * libraries is changed before it is compiled. Our own has no inline styles.
 */
export function inlineStyles(): Plugin {
  return {
    name: 'inline-styles',
    enforce: 'pre',
    transform: {
      filter: { id: /\/node_modules\/.*\.svelte$/ },
      handler: (markup) => withoutInlineStyles(markup),
    },
  };
}
