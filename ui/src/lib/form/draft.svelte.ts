// SPDX-License-Identifier: GPL-2.0-or-later
/** Edits of configuration files that are not on the router yet, and their problems. */

import type { Broken } from '../api/types-change';
import type { Problem, Router } from './change.svelte';
import { editsOf, type Edit, type Files, type Options, type Section, type Value } from './sections';
import { judgement } from './messages';

/** Returns the renames that are not in `applied` yet, from the names there. */
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
  /** The sections of each file that has been read, with the edits. */
  files = $state.raw<Files>({});
  /** Files that the router cannot read; they have no sections here. */
  broken = $state.raw<readonly Broken[]>([]);
  /** Problems of the last review, without problems of options edited since. */
  problems = $state.raw<readonly Problem[]>([]);
  /** Original names of renamed sections, by file. */
  private was = $state.raw<Readonly<Record<string, ReadonlyMap<string, string>>>>({});
  private made = 0;

  constructor(
    private readonly router: Router,
    /** Returns the problems for which the router does not use a file. */
    private readonly reported: () => readonly Problem[] = () => [],
  ) {}

  /**
   * Returns the edits from the files to the state shown. Computed at each read: a draft outlives
   * the component that made it, and a `$derived` of that component would keep its last value.
   */
  get edits(): Edit[] {
    const { before, files, was } = this;
    return Object.entries(before).flatMap(([config, sections]) =>
      editsOf(config, sections, files[config] ?? [], was[config]),
    );
  }

  /** Returns the names of the files that have been read. */
  get configs(): string[] {
    return Object.keys(this.before);
  }

  /** Reports whether the draft changes a file. */
  edited(config: string): boolean {
    return this.edits.some((each) => each.config === config);
  }

  /**
   * Reads files and discards their edits, except for edits made meanwhile. By default reads all
   * files that have been read before.
   */
  async load(configs = this.configs, signal?: AbortSignal): Promise<void> {
    const asked = this.files;
    const reply = await this.router.ask('get', { configs: [...configs] }, signal);
    const all = reply['configs'] as Record<string, Section[]>;
    const read = configs.filter((each) => this.files[each] === asked[each]);
    const fresh = Object.fromEntries(read.map((each) => [each, all[each] ?? []]));
    // Older routers refuse instead.
    const broken = (reply['broken'] ?? []) as readonly Broken[];
    const known = this.broken.filter(({ config }) => !read.includes(config));
    this.broken = [...known, ...broken.filter(({ config }) => read.includes(config))];
    this.before = { ...this.before, ...fresh };
    this.files = { ...this.files, ...fresh };
    this.was = { ...this.was, ...Object.fromEntries(read.map((each) => [each, new Map()])) };
    this.problems = this.problems.filter(({ config }) => !read.includes(config));
  }

  /**
   * Reads the files after a change with their state `applied`. Edits made since then stay, on top
   * of the applied state.
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

  /** Returns a section as the router has it; `undefined` for a new section. */
  original(config: string, name: string): Section | undefined {
    const known = this.former(config, name);
    return this.before[config]?.find(({ section }) => section === known);
  }

  /** Sets options; an empty value removes the option. */
  set(config: string, name: string, options: Record<string, Value>): void {
    this.forget(config, ({ section, option }) => section === name && option in options);
    this.change(config, (all) =>
      all.map((each) =>
        each.section === name ? { ...each, values: given({ ...each.values, ...options }) } : each,
      ),
    );
  }

  /** Adds a section, anonymous without a name; returns its id in this draft. */
  add(config: string, type: string, values: Options, name?: string): string {
    const section = name ?? `new${++this.made}`;
    const added = { section, type, anonymous: name === undefined, values: given(values) };
    this.change(config, (all) => [...all, added]);
    return section;
  }

  remove(config: string, ...names: string[]): void {
    // A section that is added later under one of the names is new.
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

  /** Moves a section before (-1) or after (1) its neighbour of the same type. */
  move(config: string, name: string, by: -1 | 1): void {
    this.change(config, (all) => {
      const at = all.findIndex(({ section }) => section === name);
      const peers = all.filter(({ type }) => type === all[at]?.type);
      const peer = peers[peers.findIndex(({ section }) => section === name) + by];
      const other = peer ? all.indexOf(peer) : at;
      return all.map((each, i) => (i === at ? all[other] : i === other ? all[at] : each) ?? each);
    });
  }

  /** Returns the problem of an option, or of the section as a whole; empty if there is none. */
  problem(config: string, name: string, option = ''): string {
    return this.problemsOf(config, name).get(option) ?? '';
  }

  /** Returns the problems of a section by option, '' for the section as a whole. */
  problemsOf(config: string, name: string): ReadonlyMap<string, string> {
    const edited = this.files[config] !== this.before[config];
    const found = new Map<string, string>();
    for (const each of [...this.problems, ...(edited ? [] : this.reported())]) {
      const here = each.config === config && each.section === name;
      // Only the first problem of an option counts.
      if (here && !found.has(each.option)) found.set(each.option, judgement('problem', each));
    }
    return found;
  }

  /** Returns the name of a section in the file. */
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
