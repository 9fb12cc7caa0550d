// SPDX-License-Identifier: GPL-2.0-or-later

export type Value = string | string[];
export type Options = Record<string, Value>;

/** A section of a configuration file, as `fastpath.change get` returns it, with masked secrets. */
export interface Section {
  /** UCI name; a new anonymous section has a local id. */
  section: string;
  type: string;
  anonymous: boolean;
  /** The router's display name; absent for new sections and on older routers. */
  label?: string;
  values: Options;
}

export type Files = Readonly<Record<string, readonly Section[]>>;

export type Edit = { config: string } & (
  | { op: 'add'; type: string; section?: string; id?: string; values: Options }
  | { op: 'set'; section: string; values: Record<string, Value | null> }
  | { op: 'delete'; section: string }
  | { op: 'rename'; section: string; name: string }
  | { op: 'order'; sections: string[] }
);

/** Placeholder for a secret in replies. Sent back, it leaves the secret unchanged. */
export const MASK = '•••';

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export const text = (section: Section | undefined, option: string, otherwise = ''): string => {
  const value = section?.values[option];
  // As in OpenWrt's scripts, a list of one entry is a text.
  const [only, ...more] = Array.isArray(value) ? value : [value];
  return only && more.length === 0 ? only : otherwise;
};

/** Returns the entries of a list. As in OpenWrt, a string is split at spaces. */
export function list(section: Section | undefined, option: string): string[] {
  const value = section?.values[option] ?? [];
  return typeof value === 'string' ? value.split(/\s+/).filter(Boolean) : value;
}

export const isOn = (section: Section | undefined, option: string, otherwise = '0'): boolean =>
  ['1', 'on', 'true', 'yes', 'enabled'].includes(text(section, option, otherwise));

/** Returns the edits between two states of a file; `was` maps new names to old ones. */
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
  // New sections are appended, so this order needs no edit.
  const natural = [
    ...before.filter(({ section }) => kept.has(section)).map(({ section }) => section),
    ...after.filter((each) => !old.has(origin(each))).map(({ section }) => section),
  ];
  if (!same(natural, after.map(origin))) {
    edits.push({ config, op: 'order', sections: after.map(({ section }) => section) });
  }
  return edits;
}
