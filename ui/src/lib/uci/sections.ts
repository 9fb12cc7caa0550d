// SPDX-License-Identifier: GPL-2.0-or-later

/** A value as UCI keeps it: one text, or a list of texts. */
export type Value = string | string[];

/** One section of a configuration file. */
export interface Section {
  /** As uci names it; a new one has a name of ours until it is written. */
  name: string;
  type: string;
  anonymous: boolean;
  options: Record<string, Value>;
}

/** A section as `fastpath.change get` answers it. */
export interface Answered {
  section: string;
  type: string;
  anonymous: boolean;
  values: Record<string, Value>;
}

/** The sections of a file, in its order. */
export function sectionsOf(answered: readonly Answered[] = []): Section[] {
  return answered.map(({ section, type, anonymous, values }) => ({
    name: section,
    type,
    anonymous,
    options: values,
  }));
}

/** What the router shows instead of a password or a code. */
const MASK = '•••';

export function hasMask(value: Value): boolean {
  return [value].flat().some((text) => text.includes(MASK));
}

/** What the page calls a section that is not written yet; no name that uci would take. */
const NEW = '+';

export function isNew(section: Section): boolean {
  return section.name.startsWith(NEW);
}

export function newName(name: string): string {
  return `${NEW}${name}`;
}

/** The name without what marks a new one. */
export function bareName(section: Section): string {
  return isNew(section) ? section.name.slice(NEW.length) : section.name;
}

/** The text of an option; a list, and what is empty, is as if it were absent. */
export function textOf(section: Section | undefined, option: string, otherwise = ''): string {
  const value = section?.options[option];
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

/** The entries of a list; a text of several words is one too. */
export function listOf(section: Section | undefined, option: string): string[] {
  const value = section?.options[option] ?? [];
  return typeof value === 'string' ? value.split(/\s+/).filter(Boolean) : value;
}

/** One step from the old configuration to the new one. */
export type Change =
  | {
      kind: 'set';
      section: Section;
      option: string;
      from: Value | undefined;
      to: Value | undefined;
    }
  | { kind: 'added'; section: Section }
  | { kind: 'removed'; section: Section }
  | { kind: 'moved'; section: Section; from: number; to: number };

function same(a: Value | undefined, b: Value | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** What differs, in the order in which it reads best: what goes, what changes, what comes. */
export function changesOf(before: readonly Section[], after: readonly Section[]): Change[] {
  const old = new Map(before.map((section) => [section.name, section]));
  const kept = new Set(after.map((section) => section.name));
  const removed = before.filter((section) => !kept.has(section.name));
  const changes: Change[] = removed.map((section) => ({ kind: 'removed', section }));
  for (const section of after) {
    const was = old.get(section.name);
    if (!was) continue;
    const names = new Set([...Object.keys(was.options), ...Object.keys(section.options)]);
    for (const option of names) {
      const [from, to] = [was.options[option], section.options[option]];
      if (!same(from, to)) changes.push({ kind: 'set', section, option, from, to });
    }
  }
  const added = after.filter((section) => !old.has(section.name));
  changes.push(...added.map((section): Change => ({ kind: 'added', section })));
  return [...changes, ...moves(before, after)];
}

/** Sections whose rank among those of their type changed, by the moves of others alone not. */
function moves(before: readonly Section[], after: readonly Section[]): Change[] {
  const known = new Set(before.map((section) => section.name));
  const kept = new Set(after.map((section) => section.name));
  const was = before.filter((section) => kept.has(section.name)).map((section) => section.name);
  const is = after.filter((section) => known.has(section.name));
  const still = longestRise(is.map((section) => was.indexOf(section.name)));
  return is
    .filter((_, i) => !still.has(i))
    .map((section) => ({
      kind: 'moved',
      section,
      from: rank(before, section),
      to: rank(after, section),
    }));
}

function rank(all: readonly Section[], section: Section): number {
  const peers = all.filter((each) => each.type === section.type);
  return peers.findIndex((each) => each.name === section.name) + 1;
}

/** Places of one longest rising row of numbers: those that did not have to move. */
function longestRise(numbers: readonly number[]): Set<number> {
  const best: number[][] = [];
  numbers.forEach((number, i) => {
    const rows = best.filter((row) => (numbers[row.at(-1) ?? 0] ?? 0) < number);
    const longest = rows.reduce<number[]>((a, b) => (b.length > a.length ? b : a), []);
    best.push([...longest, i]);
  });
  return new Set(best.reduce<number[]>((a, b) => (b.length > a.length ? b : a), []));
}
