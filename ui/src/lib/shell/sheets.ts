// SPDX-License-Identifier: GPL-2.0-or-later

type Root = Document | ShadowRoot;

const common: CSSStyleSheet[] = [];
const special: CSSStyleSheet[] = [];
const roots = new Set<Root>();

/** Puts a style sheet on every place where the app is; `first`: before those of components. */
export function adopt(text: string, first: boolean): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  (first ? common : special).push(sheet);
  for (const root of roots) dress(root);
}

/** Gives `root` all sheets there are and those to come; answers how to take them away. */
export function wear(root: Root): () => void {
  roots.add(root);
  dress(root);
  return () => {
    roots.delete(root);
    root.adoptedStyleSheets = others(root);
  };
}

function dress(root: Root): void {
  root.adoptedStyleSheets = [...others(root), ...common, ...special];
}

/** What the host page has there stays. */
function others(root: Root): CSSStyleSheet[] {
  return root.adoptedStyleSheets.filter(
    (sheet) => !common.includes(sheet) && !special.includes(sheet),
  );
}
