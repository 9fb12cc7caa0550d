// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const source = join(import.meta.dirname, '..');
const aclFile = join(
  source,
  '../../luci-app-fastpath/root/usr/share/rpcd/acl.d/luci-app-fastpath.json',
);

type Group = { ubus: Record<string, string[]>; uci?: string[] };
const acl = JSON.parse(readFileSync(aclFile, 'utf8')) as Record<
  string,
  { description: string; read: Group; write: Group }
>;

/** Writing calls; all other calls only read. */
const writes = [
  ...['engine', 'flush', 'block_release', 'reinspect', 'rules_update'].map(
    (each) => `fastpath ${each}`,
  ),
  'fastpath.access hash',
  ...['forget', 'limit', 'pause', 'resume', 'set'].map((each) => `fastpath.device ${each}`),
  'fastpath.doctor fix',
  // Sends packets to an arbitrary address.
  'fastpath.doctor pmtu',
  'fastpath.notify test',
  'file exec',
  ...['reboot', 'upgrade_clean', 'upgrade_start', 'upgrade_test'].map((each) => `rpc-sys ${each}`),
  ...['apply', 'check', 'confirm', 'revert', 'undo'].map((each) => `fastpath.change ${each}`),
  ...['down', 'up'].map((each) => `network.interface ${each}`),
  'rpc-sys password_set',
];

const open = ['session login', 'fastpath.access begin', 'fastpath.access login'];

const files = readdirSync(source, { recursive: true })
  .map(String)
  .filter((file) => /\.(svelte|ts)$/.test(file) && !/\.test\.ts$/.test(file));

/** Patterns of calls in the sources, each with a function that returns object and method. */
const ways: [pattern: RegExp, named: (parts: string[]) => string][] = [
  [/\bapi\s*\.call\(\s*'(\w+)'/g, ([method]) => `fastpath ${method}`],
  [/\bubus\s*\.call\(\s*'([\w.-]+)',\s*'(\w+)'/g, ([object, method]) => `${object} ${method}`],
  [/\bapi\s*\.request\(\s*'([\w.-]+)',\s*'(\w+)'/g, ([object, method]) => `${object} ${method}`],
];

/** Number of calls with a variable method by file; the calls above go through them. */
const passages: Record<string, number> = {
  'lib/api/fastpath.ts': 2,
  'lib/form/change.svelte.ts': 1,
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

/** Read-only methods for monitoring and other programs, not for the page. */
const monitoring = ['fastpath metrics'];

/** Scripts with these rights use more methods of these objects than the page. */
const whole = (call: string) => call.startsWith('fastpath.');

describe('luci-app-fastpath.json', () => {
  /** Configuration files contain passwords, for example in URLs of rule sources. */
  it('never grants access to rpcd’s uci object', () => {
    for (const { read, write } of Object.values(acl)) {
      expect([...Object.keys(read.ubus), ...Object.keys(write.ubus)]).not.toContain('uci');
      expect(read.uci).toBeUndefined();
    }
  });

  const group = acl['luci-app-fastpath'];
  if (!group) throw new Error(`${aclFile} has no group luci-app-fastpath`);

  it('has one group with a description, read rights and write rights', () => {
    expect(Object.keys(acl)).toEqual(['luci-app-fastpath']);
    expect(Object.keys(group)).toEqual(['description', 'read', 'write']);
    expect(group.description).not.toBe('');
    // Files are read over fastpath.change, which masks passwords.
    expect(Object.keys(group.read)).toEqual(['ubus']);
    expect(Object.keys(group.write)).toEqual(['cgi-io', 'file', 'ubus', 'uci']);
  });

  it('allows writers to run one program and write two files', () => {
    const restore = '/sbin/sysupgrade --restore-backup /tmp/backup.tar.gz';
    expect(group.write).toMatchObject({
      'cgi-io': { backup: ['read'], upload: ['write'] },
      file: {
        [restore]: ['exec'],
        '/tmp/backup.tar.gz': ['write'],
        '/tmp/firmware.bin': ['write'],
      },
    });
  });

  it('grants readers exactly the reading calls', () => {
    const reads = [...called].filter((call) => !writes.includes(call) && !open.includes(call));
    expect(granted(group.read)).toEqual(expect.arrayContaining(reads));
    expect(
      reads.filter((call) => monitoring.includes(call)),
      'the page calls it',
    ).toEqual([]);
    expect(granted(group.read)).toEqual(expect.arrayContaining(monitoring));
    const known = [...reads, ...monitoring];
    const more = granted(group.read).filter((call) => !known.includes(call));
    expect(more.filter((call) => !whole(call) || writes.includes(call))).toEqual([]);
  });

  it('grants writers exactly the writing calls', () => {
    const changes = [...called].filter((call) => writes.includes(call));
    expect(granted(group.write)).toEqual(expect.arrayContaining(changes));
    const more = granted(group.write).filter((call) => !changes.includes(call));
    expect(more.filter((call) => !whole(call) || !writes.includes(call))).toEqual([]);
  });
});

it('recognises every call in the sources', () => {
  for (const file of files) {
    const text = readFileSync(join(source, file), 'utf8');
    const all = [...text.matchAll(/\.(call|request)\(/g)].length;
    const passed = passages[file.replaceAll('\\', '/')] ?? 0;
    const named = callsOf(text).length;
    expect(named, file).toBe(all - passed);
  }
});

it('grants only the login without a session', () => {
  const file = join(aclFile, '../fastpath-access.json');
  const access = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { read: Group }>;
  expect(Object.keys(access)).toEqual(['unauthenticated']);
  expect(Object.keys(access['unauthenticated'] ?? {})).toEqual(['description', 'read']);
  expect(access['unauthenticated']?.read).toEqual({
    ubus: { 'fastpath.access': ['begin', 'login'] },
  });
});
