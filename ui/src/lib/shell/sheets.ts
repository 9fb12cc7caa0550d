// SPDX-License-Identifier: GPL-2.0-or-later

let sheet: Promise<CSSStyleSheet> | undefined;

/** Fetches the style sheet once; a failed fetch is repeated. */
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
  // The development server adds styles to the document itself.
  if (import.meta.env.DEV && import.meta.env.MODE !== 'test') return '';
  // The file name has no hash, so a cached file may be outdated.
  const answer = await fetch(url, { cache: 'no-cache' });
  if (!answer.ok) throw new Error(`${url.pathname}: HTTP ${answer.status}`);
  return answer.text();
}

/** Adds a style sheet to `root`; returns a function that removes it. */
export function adoptSheet(root: Document | ShadowRoot, added: CSSStyleSheet): () => void {
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, added];
  return () => {
    root.adoptedStyleSheets = root.adoptedStyleSheets.filter((each) => each !== added);
  };
}
