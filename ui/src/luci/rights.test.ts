// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const source = join(import.meta.dirname, '..');
const aclFile = join(
  source,
  '../../luci-app-fastpath/root/usr/share/rpcd/acl.d/luci-app-fastpath.json',
);

type Group = Record<'ubus' | 'uci', unknown> & { ubus: Record<string, string[]>; uci: string[] };
const acl = JSON.parse(readFileSync(aclFile, 'utf8')) as Record<
  string,
  { description: string; read: Group; write: Group }
>;

/** What changes something on the router; everything else only looks. */
const writes = [
  ...['engine', 'block_release', 'reinspect', 'rules_update'].map((each) => `fastpath ${each}`),
  ...['add', 'apply', 'confirm', 'delete', 'order', 'revert', 'rollback', 'set'].map(
    (each) => `uci ${each}`,
  ),
  // Of one's own session, asked only before a write.
  'uci changes',
];

/** Anybody may, before there is a session: the group `unauthenticated` that rpcd brings. */
const open = ['session login'];

const files = readdirSync(source, { recursive: true })
  .map(String)
  .filter((file) => /\.(svelte|ts)$/.test(file) && !/\.test\.ts$/.test(file));

/** The ways in which the page calls a method, each with how to read object and method. */
const ways: [pattern: RegExp, named: (parts: string[]) => string][] = [
  [/\bapi\s*\.call\(\s*'(\w+)'/g, ([method]) => `fastpath ${method}`],
  [/\bubus\s*\.call\(\s*'([\w.]+)',\s*'(\w+)'/g, ([object, method]) => `${object} ${method}`],
  [/\bapi\s*\.request\(\s*'([\w.]+)',\s*'(\w+)'/g, ([object, method]) => `${object} ${method}`],
  [/(?<!api\s*|ubus\s*)\.call\(\s*'(\w+)'/g, ([method]) => `uci ${method}`],
  [/\bsubscribe\(\s*[\w.]+,\s*'(\w+)'/g, ([object]) => `${object} :subscribe`],
];

/** Where a method's name is a parameter: in the functions that everything above goes through. */
const passages: Record<string, number> = {
  'lib/api/fastpath.ts': 2,
  'lib/uci/configuration.ts': 1,
};

function callsOf(text: string): string[] {
  return ways.flatMap(([pattern, named]) =>
    [...text.matchAll(pattern)].map((match) => named(match.slice(1))),
  );
}

const called = new Set<string>();
for (const file of files) {
  for (const call of callsOf(readFileSync(join(source, file), 'utf8'))) called.add(call);
}

const granted = (group: Group) =>
  Object.entries(group.ubus).flatMap(([object, methods]) =>
    methods.map((method) => `${object} ${method}`),
  );

describe('luci-app-fastpath.json', () => {
  const group = acl['luci-app-fastpath'];
  if (!group) throw new Error(`${aclFile} has no group luci-app-fastpath`);

  it('has one group, described, with rights to read and to write', () => {
    expect(Object.keys(acl)).toEqual(['luci-app-fastpath']);
    expect(Object.keys(group)).toEqual(['description', 'read', 'write']);
    expect(group.description).not.toBe('');
    for (const rights of [group.read, group.write]) {
      expect(Object.keys(rights)).toEqual(['ubus', 'uci']);
      expect(rights.uci).toEqual(['fastpath']);
    }
  });

  it('lets a reader call what only looks, and nothing else', () => {
    const looks = [...called].filter((call) => !writes.includes(call) && !open.includes(call));
    expect(granted(group.read).sort()).toEqual(looks.sort());
  });

  it('lets a writer call what changes something, and nothing else', () => {
    const changes = [...called].filter((call) => writes.includes(call));
    expect(granted(group.write).sort()).toEqual(changes.sort());
  });
});

it('knows every call in the sources', () => {
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8');
    const all = [...text.matchAll(/\.(call|request)\(/g)].length;
    const passed = passages[file.replaceAll('\\', '/')] ?? 0;
    const named = callsOf(text).filter((call) => !call.endsWith(' :subscribe')).length;
    expect(named, file).toBe(all - passed);
  }
});
