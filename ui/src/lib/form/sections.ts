// SPDX-License-Identifier: GPL-2.0-or-later
/** Sections of UCI on the page: text, list or switch of an option, the mask of secrets, and the
 * edits from one state to another. */

/** A value as UCI keeps it: one text, or a list of texts. */
export type Value = string | string[];
export type Options = Record<string, Value>;

/** One section of a configuration file, as `fastpath.change get` reports it: secrets masked. */
export interface Section {
  /** As uci names it; a new anonymous one has an id of this page. */
  section: string;
  type: string;
  anonymous: boolean;
  /** As the router names it for people; none of a new one, nor from an older router. */
  label?: string;
  values: Options;
}

export type Files = Readonly<Record<string, readonly Section[]>>;

/** One step of a change, as `fastpath.change` takes it. */
export type Edit = { config: string } & (
  | { op: 'add'; type: string; section?: string; id?: string; values: Options }
  | { op: 'set'; section: string; values: Record<string, Value | null> }
  | { op: 'delete'; section: string }
  | { op: 'rename'; section: string; name: string }
  | { op: 'order'; sections: string[] }
);

/** The placeholder for a secret in answers; sent back it means "unchanged". */
export const MASK = '•••';

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export const text = (section: Section | undefined, option: string, otherwise = ''): string => {
  const value = section?.values[option];
  // A list of one is read as a text, as OpenWrt's scripts do.
  const [only, ...more] = Array.isArray(value) ? value : [value];
  return only && more.length === 0 ? only : otherwise;
};

/** The entries of a list; a string with spaces is one too, as everywhere in OpenWrt. */
export function list(section: Section | undefined, option: string): string[] {
  const value = section?.values[option] ?? [];
  return typeof value === 'string' ? value.split(/\s+/).filter(Boolean) : value;
}

export const isOn = (section: Section | undefined, option: string, otherwise = '0'): boolean =>
  ['1', 'on', 'true', 'yes', 'enabled'].includes(text(section, option, otherwise));

/** The edits that lead from one list of sections to another; `was` maps new names to old ones. */
export function editsOf(
  config: string,
  before: readonly Section[],
  after: readonly Section[],
  was: ReadonlyMap<string, string> = new Map(),
): Edit[] {
  const origin = ({ section }: Section) => was.get(section) ?? section;
  const old = new Map(before.map((each) => [each.section, each]));
  const kept = new Set(after.map(origin));
  const edits: Edit[] = [];
  for (const { section } of before) {
    if (!kept.has(section)) edits.push({ config, op: 'delete', section });
  }
  for (const now of after) {
    const then = old.get(origin(now));
    if (!then) {
      const { section, type, anonymous } = now;
      const name = anonymous ? { id: section } : { section };
      const values = Object.entries(now.values).filter(([, value]) => value.length > 0);
      edits.push({ config, op: 'add', type, ...name, values: Object.fromEntries(values) });
      continue;
    }
    const values: Record<string, Value | null> = {};
    for (const option of new Set([...Object.keys(then.values), ...Object.keys(now.values)])) {
      const to = now.values[option] ?? [];
      if (!same(then.values[option] ?? [], to)) values[option] = to.length > 0 ? to : null;
    }
    const { section } = then;
    if (Object.keys(values).length > 0) edits.push({ config, op: 'set', section, values });
    if (now.section !== section) edits.push({ config, op: 'rename', section, name: now.section });
  }
  // New sections are written at the end: then there is nothing to order.
  const natural = [
    ...before.filter(({ section }) => kept.has(section)).map(({ section }) => section),
    ...after.filter((each) => !old.has(origin(each))).map(({ section }) => section),
  ];
  if (!same(natural, after.map(origin))) {
    edits.push({ config, op: 'order', sections: after.map(({ section }) => section) });
  }
  return edits;
}
