// SPDX-License-Identifier: GPL-2.0-or-later
import type { Plugin } from 'vite';

/** Matches the attribute `style="a: b; c: d"`; Svelte already sets values with `{` by script. */
const INLINE = /\sstyle="([^"{}]*)"/g;

/** Converts inline styles to style directives, which set properties by script. */
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
 * Rewrites inline styles in the markup of libraries, because the page's policy forbids the
 * attribute `style` but not properties set by script. Our own markup has no inline styles.
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
