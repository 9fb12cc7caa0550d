// SPDX-License-Identifier: GPL-2.0-or-later

import type { Broken } from '../api/types-change';
import type { Problem, Router } from './change.svelte';
import { editsOf, type Edit, type Files, type Options, type Section, type Value } from './sections';
import { localized } from './messages';

/** Returns the renames that `applied` lacks, with their former names in `applied`. */
function renamedSince(
  applied: readonly Section[],
  was: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const names = new Set(applied.map(({ section }) => section));
  const done = new Map([...was].filter(([to]) => names.has(to)).map(([to, from]) => [from, to]));
  const open = [...was].filter(([to]) => !names.has(to));
  return new Map(open.map(([to, from]) => [to, done.get(from) ?? from]));
}

export class Draft {
  private before = $state.raw<Files>({});
  /** The sections of each loaded file, with the edits. */
  files = $state.raw<Files>({});
  /** Files that the router cannot parse; they have no sections here. */
  broken = $state.raw<readonly Broken[]>([]);
  /** Files that the router does not have. */
  missing = $state.raw<readonly string[]>([]);
  /** Problems of the last review, without those of options edited later. */
  problems = $state.raw<readonly Problem[]>([]);
  private was = $state.raw<Readonly<Record<string, ReadonlyMap<string, string>>>>({});
  private made = 0;

  constructor(
    private readonly router: Router,
    /** Returns the problems for which the router refuses a file. */
    private readonly reported: () => readonly Problem[] = () => [],
  ) {}

  /**
   * Returns the edits from the loaded files to the current state. A getter, because a draft
   * outlives the component that creates it, and a `$derived` would keep its last value.
   */
  get edits(): Edit[] {
    const { before, files, was } = this;
    return Object.entries(before).flatMap(([config, sections]) =>
      editsOf(config, sections, files[config] ?? [], was[config]),
    );
  }

  get configs(): string[] {
    return Object.keys(this.before);
  }

  edited(config: string): boolean {
    return this.edits.some((each) => each.config === config);
  }

  /**
   * Loads files and discards their edits, except edits made while loading. By default reloads all
   * files.
   */
  async load(configs = this.configs, signal?: AbortSignal): Promise<void> {
    const asked = this.files;
    const reply = await this.router.ask('get', { configs: [...configs] }, signal);
    const all = reply['configs'] as Record<string, Section[]>;
    const read = configs.filter((each) => this.files[each] === asked[each]);
    const fresh = Object.fromEntries(read.map((each) => [each, all[each] ?? []]));
    // Older routers refuse the whole call instead.
    const broken = (reply['broken'] ?? []) as readonly Broken[];
    const known = this.broken.filter(({ config }) => !read.includes(config));
    this.broken = [...known, ...broken.filter(({ config }) => read.includes(config))];
    const unread = [...Object.keys(all), ...this.broken.map(({ config }) => config)];
    this.missing = [
      ...this.missing.filter((each) => !read.includes(each)),
      ...read.filter((each) => !unread.includes(each)),
    ];
    this.before = { ...this.before, ...fresh };
    this.files = { ...this.files, ...fresh };
    this.was = { ...this.was, ...Object.fromEntries(read.map((each) => [each, new Map()])) };
    this.problems = this.problems.filter(({ config }) => !read.includes(config));
  }

  /**
   * Reloads the files after a change whose state was `applied`. Later edits stay, on top of that
   * state.
   */
  async loadAfter(applied: Files, signal?: AbortSignal): Promise<void> {
    const later = this.configs.filter((each) => this.files[each] !== applied[each]);
    for (const each of later) {
      this.before = { ...this.before, [each]: applied[each] ?? [] };
      this.was = { ...this.was, [each]: renamedSince(applied[each] ?? [], this.was[each]) };
    }
    const others = this.configs.filter((each) => !later.includes(each));
    if (others.length > 0) await this.load(others, signal);
  }

  discard(): void {
    this.files = this.before;
    this.was = {};
    this.problems = [];
  }

  all(config: string, type?: string): readonly Section[] {
    const sections = this.files[config] ?? [];
    return type === undefined ? sections : sections.filter((each) => each.type === type);
  }

  get(config: string, name: string): Section | undefined {
    return this.files[config]?.find(({ section }) => section === name);
  }

  /** Returns the section on the router; `undefined` for a new section. */
  original(config: string, name: string): Section | undefined {
    const known = this.former(config, name);
    return this.before[config]?.find(({ section }) => section === known);
  }

  /** Sets options; an empty value removes an option. */
  set(config: string, name: string, options: Record<string, Value>): void {
    this.forget(config, ({ section, option }) => section === name && option in options);
    this.change(config, (all) =>
      all.map((each) =>
        each.section === name ? { ...each, values: given({ ...each.values, ...options }) } : each,
      ),
    );
  }

  /** Adds a section, without a name an anonymous one; returns its id in this draft. */
  add(config: string, type: string, values: Options, name?: string): string {
    const section = name ?? `new${++this.made}`;
    const added = { section, type, anonymous: name === undefined, values: given(values) };
    this.change(config, (all) => [...all, added]);
    return section;
  }

  remove(config: string, ...names: string[]): void {
    // A section added later under a removed name is new.
    const kept = [...(this.was[config] ?? [])].filter(([to]) => !names.includes(to));
    this.was = { ...this.was, [config]: new Map(kept) };
    this.forget(config, ({ section }) => names.includes(section));
    this.change(config, (all) => all.filter(({ section }) => !names.includes(section)));
  }

  rename(config: string, name: string, to: string): void {
    const former = this.former(config, name);
    if (this.before[config]?.some(({ section }) => section === former)) {
      const names = new Map([...(this.was[config] ?? []), [to, former]]);
      this.was = { ...this.was, [config]: names };
    }
    this.change(config, (all) =>
      all.map((each) => (each.section === name ? { ...each, section: to } : each)),
    );
  }

  /** Swaps a section with its previous (-1) or next (1) neighbour of the same type. */
  move(config: string, name: string, by: -1 | 1): void {
    this.change(config, (all) => {
      const at = all.findIndex(({ section }) => section === name);
      const peers = all.filter(({ type }) => type === all[at]?.type);
      const peer = peers[peers.findIndex(({ section }) => section === name) + by];
      const other = peer ? all.indexOf(peer) : at;
      return all.map((each, i) => (i === at ? all[other] : i === other ? all[at] : each) ?? each);
    });
  }

  problem(config: string, name: string, option = ''): string {
    return this.problemsOf(config, name).get(option) ?? '';
  }

  /** Returns the problems of a section by option; an empty option is the section itself. */
  problemsOf(config: string, name: string): ReadonlyMap<string, string> {
    const edited = this.files[config] !== this.before[config];
    const found = new Map<string, string>();
    for (const each of [...this.problems, ...(edited ? [] : this.reported())]) {
      const here = each.config === config && each.section === name;
      if (here && !found.has(each.option)) found.set(each.option, localized('problem', each));
    }
    return found;
  }

  private former(config: string, name: string): string {
    return this.was[config]?.get(name) ?? name;
  }

  private forget(config: string, which: (problem: Problem) => boolean): void {
    this.problems = this.problems.filter((each) => each.config !== config || !which(each));
  }

  private change(config: string, how: (all: readonly Section[]) => readonly Section[]): void {
    this.files = { ...this.files, [config]: how(this.files[config] ?? []) };
  }
}

const given = (values: Options) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value.length > 0));
