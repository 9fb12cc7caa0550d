// SPDX-License-Identifier: GPL-2.0-or-later
/** Fetches the style sheet of the page, and puts it on a document or shadow root. */

let sheet: Promise<CSSStyleSheet> | undefined;

/** The style sheet of the page; fetched again after it could not be. */
export function fetchSheet(url: URL): Promise<CSSStyleSheet> {
  sheet ??= fetchText(url).then((text) => {
    const made = new CSSStyleSheet();
    made.replaceSync(text);
    return made;
  });
  sheet.catch(() => (sheet = undefined));
  return sheet;
}

async function fetchText(url: URL): Promise<string> {
  // The development server puts style into the document by itself.
  if (import.meta.env.DEV && import.meta.env.MODE !== 'test') return '';
  // Its name is that of every version: one in the cache may be another page's.
  const answer = await fetch(url, { cache: 'no-cache' });
  if (!answer.ok) throw new Error(`${url.pathname}: HTTP ${answer.status}`);
  return answer.text();
}

/** Adds a style sheet to those that `root` has; answers how to take it away. */
export function wear(root: Document | ShadowRoot, worn: CSSStyleSheet): () => void {
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, worn];
  return () => {
    root.adoptedStyleSheets = root.adoptedStyleSheets.filter((each) => each !== worn);
  };
}
