// SPDX-License-Identifier: GPL-2.0-or-later

export const kinds = ['screens', 'settings', 'hosts', 'findings', 'commands'] as const;
export type Kind = (typeof kinds)[number];

export interface Found {
  id: string;
  kind: Kind;
  title: string;
  detail?: string;
  /** Hidden text that matches. */
  keywords?: string;
  /** Matches any text, and is sorted last. */
  always?: boolean;
  offered?: boolean;
  /** Keeps the search open to show the outcome. */
  stays?: boolean;
  act: () => void;
}

export interface FoundGroup {
  kind: Kind;
  items: Found[];
}

const MAX_ENTRIES = 8;

/** Removes case and accents, so that `uber` matches `Über`. */
export const plain = (text: string): string =>
  text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

/**
 * Returns the score of a word, from 1 (in the detail) to 5 (equals the title); 0 without a match.
 */
function fit(word: string, { title, rest }: { title: string; rest: string }): number {
  const at = title.indexOf(word);
  if (at === 0) return title === word ? 5 : 4;
  if (at > 0) return /[\p{L}\p{N}]/u.test(title[at - 1] ?? '') ? 2 : 3;
  return rest.includes(word) ? 1 : 0;
}

/** Returns the sum of the scores; 0 if a word does not match. */
function score(words: readonly string[], found: Found): number {
  if (found.always) return 0.5;
  const title = plain(found.title);
  const rest = plain(`${found.detail ?? ''} ${found.keywords ?? ''}`);
  const fits = words.map((word) => fit(word, { title, rest }));
  return fits.some((each) => each === 0) ? 0 : fits.reduce((sum, each) => sum + each, 0);
}

/**
 * Returns the entries that match every word, best first, grouped by kind. The kind of the best
 * entry is first. Without text, returns the `offered` entries.
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
      .slice(0, MAX_ENTRIES),
  }));
}
