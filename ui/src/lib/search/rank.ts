// SPDX-License-Identifier: GPL-2.0-or-later
/** Matches entries against a text and sorts them. */

export const kinds = ['screens', 'settings', 'hosts', 'findings', 'commands'] as const;
export type Kind = (typeof kinds)[number];

/** An entry of the search. */
export interface Found {
  /** Unique among all entries. */
  id: string;
  kind: Kind;
  title: string;
  /** Location of the entry, or its value. */
  detail?: string;
  /** Further text that matches. */
  keywords?: string;
  /** Matches any text and comes last. */
  always?: boolean;
  /** Shown before a text is typed. */
  offered?: boolean;
  /** Keeps the search open to show the outcome. */
  stays?: boolean;
  act: () => void;
}

export interface FoundGroup {
  kind: Kind;
  items: Found[];
}

/** Maximum number of entries per kind; nobody reads a longer list. */
const MOST = 8;

/** Removes case and accents: `uber` finds `Über`. */
export const plain = (text: string): string =>
  text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

/** Returns the score of a word; 0 if it does not match. */
function fit(word: string, { title, rest }: { title: string; rest: string }): number {
  const at = title.indexOf(word);
  if (at === 0) return title === word ? 5 : 4;
  if (at > 0) return /[\p{L}\p{N}]/u.test(title[at - 1] ?? '') ? 2 : 3;
  return rest.includes(word) ? 1 : 0;
}

/** Returns the total score of the words; 0 if one does not match. */
function score(words: readonly string[], found: Found): number {
  if (found.always) return 0.5;
  const title = plain(found.title);
  const rest = plain(`${found.detail ?? ''} ${found.keywords ?? ''}`);
  const fits = words.map((word) => fit(word, { title, rest }));
  return fits.some((each) => each === 0) ? 0 : fits.reduce((sum, each) => sum + each, 0);
}

/**
 * Returns the entries that match every word, best first, grouped by kind. The kind with the best
 * entry comes first. Without a text, returns the `offered` entries.
 */
export function rank(all: readonly Found[], text: string): FoundGroup[] {
  const words = plain(text).split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    const offered = all.filter((each) => each.offered);
    return kinds
      .map((kind) => ({ kind, items: offered.filter((each) => each.kind === kind) }))
      .filter(({ items }) => items.length > 0);
  }
  const scored = all
    .map((found) => ({ found, value: score(words, found) }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value);
  return [...new Set(scored.map(({ found }) => found.kind))].map((kind) => ({
    kind,
    items: scored
      .map(({ found }) => found)
      .filter((found) => found.kind === kind)
      .slice(0, MOST),
  }));
}
