// SPDX-License-Identifier: GPL-2.0-or-later
/** Which entries a text finds, and their order. */

export const kinds = ['screens', 'settings', 'hosts', 'findings', 'commands'] as const;
export type Kind = (typeof kinds)[number];

/** Something that the search can find. */
export interface Found {
  /** Unique among all. */
  id: string;
  kind: Kind;
  title: string;
  /** Where it is, or its value. */
  detail?: string;
  /** Further text that finds it. */
  keywords?: string;
  /** Found by any text, after everything else. */
  always?: boolean;
  /** Shown before a text is typed. */
  offered?: boolean;
  /** The search stays open, and shows the outcome. */
  stays?: boolean;
  act: () => void;
}

export interface FoundGroup {
  kind: Kind;
  items: Found[];
}

/** Of one kind: a longer list is not read. */
const MOST = 8;

/** Without case and accents: `uber` finds `Über`. */
export const plain = (text: string): string =>
  text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

/** The score of one part of the text; 0: it does not fit. */
function fit(word: string, { title, rest }: { title: string; rest: string }): number {
  const at = title.indexOf(word);
  if (at === 0) return title === word ? 5 : 4;
  if (at > 0) return /[\p{L}\p{N}]/u.test(title[at - 1] ?? '') ? 2 : 3;
  return rest.includes(word) ? 1 : 0;
}

/** The score of all parts of a text; 0 where one does not fit. */
function score(words: readonly string[], found: Found): number {
  if (found.always) return 0.5;
  const title = plain(found.title);
  const rest = plain(`${found.detail ?? ''} ${found.keywords ?? ''}`);
  const fits = words.map((word) => fit(word, { title, rest }));
  return fits.some((each) => each === 0) ? 0 : fits.reduce((sum, each) => sum + each, 0);
}

/**
 * The entries that have every word of a text, the best first, by kind; the kind with the best one
 * first. Without a text, those that are offered.
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
