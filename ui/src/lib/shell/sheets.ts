// SPDX-License-Identifier: GPL-2.0-or-later
import { fetchPacked } from 'virtual:packed';

let sheet: Promise<CSSStyleSheet> | undefined;

/** Fetches what the page looks like; asked for again after it could not be had. */
export function fetchSheet(): Promise<CSSStyleSheet> {
  sheet ??= fetchPacked().then((text = '') => {
    const made = new CSSStyleSheet();
    made.replaceSync(text);
    return made;
  });
  sheet.catch(() => (sheet = undefined));
  return sheet;
}

/** Adds a style sheet to those that `root` has; answers how to take it away. */
export function wear(root: Document | ShadowRoot, worn: CSSStyleSheet): () => void {
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, worn];
  return () => {
    root.adoptedStyleSheets = root.adoptedStyleSheets.filter((each) => each !== worn);
  };
}
