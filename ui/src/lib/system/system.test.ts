// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { Router } from '../form/change.svelte';
import { Draft } from '../form/draft.svelte';
import type { Options, Section } from '../form/sections';
import { namesOf, packed as gzipped } from './archive';
import { filtered, type Entry } from './log';
import {
  addUser,
  hasAdministrator,
  isName,
  restrict,
  rightsOf,
  setPassword,
  usersOf,
} from './users';

function entry(name: string, content = '', kind = '0', target = ''): Buffer {
  const head = Buffer.alloc(512);
  head.write(name, 0);
  head.write('0000600\0', 100);
  head.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  head.write(' '.repeat(8), 148);
  head.write(kind, 156);
  head.write(target, 157);
  head.write('ustar\0', 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([head, body]);
}

const end = Buffer.alloc(1024);
const network = entry('etc/config/network', "option password 'secret'");
const packed = (...parts: Buffer[]) => new Blob([gzipSync(Buffer.concat([...parts, end]))]);
const flawOf = (file: Blob) =>
  namesOf(file).then(
    (names) => names,
    ({ flaw, entry: name }: { flaw: string; entry: string }) => [flaw, name].join(' ').trim(),
  );

describe('a backup', () => {
  it('is recognised by its file names', async () => {
    const names = await namesOf(packed(entry('etc/', '', '5'), entry('./etc/passwd'), network));
    expect(names).toEqual(['etc/config/network', 'etc/passwd']);
    expect(JSON.stringify(names)).not.toContain('secret');
  });

  it('is compressed again if the browser has unpacked it', async () => {
    const plain = new Blob([Buffer.concat([network, end])]);
    expect(await namesOf(plain)).toEqual(['etc/config/network']);
    const again = Buffer.from(await (await gzipped(plain)).arrayBuffer());
    expect(gunzipSync(again)).toEqual(Buffer.from(await plain.arrayBuffer()));
    const whole = packed(network);
    expect(await gzipped(whole)).toBe(whole);
  });

  it('may have links that stay inside', async () => {
    const service = entry('etc/rc.d/S95foo', '', '2', '../init.d/foo');
    const hard = [entry('etc/a', 'x'), entry('etc/b', '', '1', 'etc/a')];
    expect(await namesOf(packed(network, service, ...hard))).toEqual([
      'etc/a',
      'etc/config/network',
    ]);
  });

  it('may have long names, and links to its own entries', async () => {
    const long = `etc/${'long/'.repeat(40)}name`;
    const pax = `${String(long.length + 10)} path=${long}\n`;
    const names = await namesOf(
      packed(
        network,
        entry('././@LongLink', long, 'L'),
        entry('etc/long', 'x'),
        entry('pax', `18 xattr=\0\n\0path=\n${pax}`, 'x'),
        entry('etc/other', ''),
        entry('etc/link', '', '2', 'passwd'),
      ),
    );
    expect(names).toEqual(['etc/config/network', long, long]);
  });

  it.each([
    ['not-tar', new Blob(['PK\u0003\u0004 another kind of archive'])],
    ['not-tar', new Blob([`PK\u0003\u0004${'another kind of archive'.repeat(50)}`])],
    ['not-tar', new Blob([])],
    ['not-tar', new Blob([gzipSync('a letter, '.repeat(200))])],
    ['not-tar', new Blob([gzipSync('')])],
    ['foreign', packed(entry('photos/cat.jpg', 'meow'))],
    ['outside etc/../../bin/sh', packed(network, entry('etc/../../bin/sh'))],
    ['outside ../etc/passwd', packed(network, entry('../etc/passwd'))],
    ['outside /etc/passwd', packed(network, entry('/etc/passwd'))],
    ['link etc/x', packed(network, entry('etc/x', '', '2', '/etc'))],
    ['link etc/y', packed(network, entry('etc/y', '', '1', '../../bin/sh'))],
    ['link etc/z', packed(network, entry('etc/z', '', '2', 'a/../../../bin/sh'))],
    ['link etc/0', packed(network, entry('etc/0', '', '2', ''))],
    [
      'link etc/h',
      packed(network, entry('etc/l', '', '2', 'shadow'), entry('etc/h', '', '1', 'etc/l')),
    ],
    ['link etc/h', packed(network, entry('etc/h', '', '1', 'etc/shadow'))],
    ['outside etc/l/x', packed(network, entry('etc/l', '', '2', 'rc.d'), entry('etc/l/x', 'x'))],
    [
      'outside ./etc//l/./x',
      packed(network, entry('etc/l', '', '2', 'rc.d'), entry('./etc//l/./x', 'x')),
    ],
    ['outside etc/l', packed(network, entry('etc/l', '', '2', 'shadow'), entry('etc/l', 'x'))],
    [
      'outside etc/l/m',
      packed(network, entry('etc/l', '', '2', '..'), entry('etc/l/m', '', '2', 'x')),
    ],
    [
      'link etc/long',
      packed(network, entry('././@LongLink', '/etc/shadow', 'K'), entry('etc/long', '', '2', 'x')),
    ],
    [
      'link etc/pax',
      packed(
        network,
        entry('pax', '24 linkpath=/etc/shadow\n', 'x'),
        entry('etc/pax', '', '2', 'x'),
      ),
    ],
    ['link etc/tty', packed(network, entry('etc/tty', '', '3'))],
    [
      'link etc/own',
      packed(
        network,
        entry('pax', '18 linkpath=other\n', 'x'),
        entry('etc/own', '', '2', '/etc/shadow'),
      ),
    ],
    [
      'outside etc/l/x',
      packed(
        network,
        entry('etc/l', '', '2', 'rc.d'),
        entry('pax', '15 path=etc/ok\n16 path=etc/l/x\n', 'x'),
        entry('etc/ok', 'x'),
      ),
    ],
    [
      'outside etc/l/x',
      packed(
        network,
        entry('etc/l', '', '2', 'rc.d'),
        entry('pax', '27 comment=\n15 path=etc/ok\n16 path=etc/l/x\n', 'x'),
        entry('etc/ok', 'x'),
      ),
    ],
    ['not-tar', packed(network, entry('pax', '99 path=etc/ok\n', 'x'), entry('etc/ok', 'x'))],
    ['not-tar', packed(network, entry('pax', '17 path=etc/ok\0x\n', 'x'), entry('etc/ok', 'x'))],
  ])('is refused: %s', async (flaw, file) => {
    expect(await flawOf(file)).toBe(flaw);
  });

  it('is refused if the router would unpack an entry that the page does not list', async () => {
    const hidden = entry('etc/shadow', 'root::0:0').toString('latin1');
    for (const kind of ['1', '2', '5']) {
      const target = kind === '5' ? '' : 'config/network';
      const file = packed(network, entry('etc/x', hidden, kind, target));
      expect(await flawOf(file), kind).toBe('not-tar');
    }
    expect(await flawOf(packed(network, entry('etc/x/', hidden)))).toBe('not-tar');
    const zeros = Buffer.alloc(512);
    expect(await flawOf(packed(network, zeros, entry('etc/shadow', 'x')))).toBe('not-tar');
    expect(await namesOf(new Blob([Buffer.concat([network, zeros])]))).toHaveLength(1);
    expect(await namesOf(packed(network, end, entry('etc/shadow', 'x')))).toHaveLength(1);
  });

  it('is refused if it is truncated anywhere', async () => {
    const whole = gzipSync(Buffer.concat([network, entry('etc/b', 'x'.repeat(4000)), end]));
    for (const share of [0.3, 0.6, 0.95]) {
      const cut = new Blob([whole.subarray(0, Math.floor(whole.length * share))]);
      expect(await flawOf(cut), String(share)).toBe('truncated');
    }
    const tar = Buffer.concat([network, entry('etc/b', 'x'.repeat(4000))]);
    expect(await flawOf(new Blob([gzipSync(tar.subarray(0, 2048))]))).toBe('truncated');
  });

  it('is refused if it unpacks to more than 32 MiB', async () => {
    const bomb = new Blob([gzipSync(Buffer.alloc(40 * 1024 * 1024))]);
    expect(await flawOf(bomb)).toBe('large');
  });
});

describe('the log', () => {
  const lines: Entry[] = [
    { id: 1, time: 1, priority: 30, msg: 'netifd: wan is up' },
    { id: 2, time: 2, priority: 28, msg: 'netifd: wan lost its carrier' },
    { id: 3, time: 3, priority: 3, msg: 'kernel: wan: out of memory' },
  ];
  const ids = (...found: Entry[]) => found.map(({ id }) => id);

  it('is sorted newest first', () => {
    expect(ids(...filtered(lines, '', 'all'))).toEqual([3, 2, 1]);
  });

  it('is filtered by all terms, in any case, and by severity', () => {
    expect(ids(...filtered(lines, ' WAN netifd ', 'all'))).toEqual([2, 1]);
    expect(ids(...filtered(lines, '', 'warning'))).toEqual([3, 2]);
    expect(ids(...filtered(lines, 'wan', 'error'))).toEqual([3]);
  });
});

describe('users', () => {
  const login = (username: string, options: Options): Section => ({
    section: username,
    type: 'login',
    anonymous: true,
    values: { username, password: '•••', ...options },
  });
  let draft: Draft;

  beforeEach(async () => {
    const rpcd = [
      login('root', { read: ['*'], write: ['*'] }),
      login('viewer', { read: ['unauthenticated', 'luci-app-fastpath'] }),
    ];
    const request = () => Promise.resolve({ configs: { rpcd } });
    draft = new Draft(new Router({ request } as never));
    await draft.load(['rpcd']);
  });

  it('derive their role from their write rights', () => {
    expect(usersOf(draft).map(({ role }) => role)).toEqual(['administrator', 'viewer']);
    draft.remove('rpcd', 'root');
    expect(hasAdministrator(draft)).toBe(false);
  });

  it('are added with a hash, viewers without write rights', () => {
    addUser(draft, 'guest', 'viewer', '$6$salt$hash');
    expect(draft.edits).toMatchObject([
      { op: 'add', type: 'login', values: { username: 'guest', password: '$6$salt$hash' } },
    ]);
    expect(JSON.stringify(draft.edits)).not.toContain('write');
  });

  it('may read the page but no folders as viewers', () => {
    expect(rightsOf('viewer')).toEqual({
      read: ['unauthenticated', 'luci-app-fastpath'],
      write: [],
    });
  });

  it('have the same rights in the lab as on the page', () => {
    for (const file of ['gateway/etc/config/rpcd', 'image/viewer.rpcd']) {
      const path = join(import.meta.dirname, '../../../../e2e/lab', file);
      const viewer = readFileSync(path, 'utf8').split("username 'viewer'")[1] ?? '';
      const read = [...viewer.matchAll(/list read '([^']+)'/g)].map(([, group]) => group);
      expect(read.sort(), file).toEqual(rightsOf('viewer').read.sort());
      expect(viewer, file).not.toContain('list write');
    }
  });

  it.each([
    [['luci-base', 'luci-app-fastpath'], true],
    [['*'], true],
    [['luci-*'], true],
    ['unauthenticated luci-base', true],
    [['*', '!luci-base'], false],
    [['luci-*', '! luci-b*'], false],
    [['luci-base-network-status', 'luci-app-fastpath'], false],
    [['unauthenticated', 'luci-app-fastpath'], false],
  ])('with read rights %j are exposed: %s', (read, exposed) => {
    const all = () => [login('guest', { read })];
    expect(usersOf({ all })[0]?.exposed).toBe(exposed);
    const root = () => [login('root', { read, write: ['*'] })];
    expect(usersOf({ all: root })[0]?.exposed, 'an administrator').toBe(false);
  });

  it('lose exposing rights on request, and with a new password', () => {
    const exposed = { read: ['luci-base', 'luci-app-fastpath'] };
    const by = (change: (section: string) => void, section: string) => {
      draft.set('rpcd', section, exposed);
      expect(usersOf(draft).find((user) => user.section === section)?.exposed).toBe(true);
      change(section);
      expect(usersOf(draft).find((user) => user.section === section)?.exposed).toBe(false);
    };
    by((section) => restrict(draft, section), 'viewer');
    const user = { section: 'viewer', name: 'viewer', role: 'viewer', exposed: true } as const;
    by(() => setPassword(draft, user, '$6$salt$hash'), 'viewer');
    expect(JSON.stringify(draft.edits)).toContain('$6$salt$hash');
    setPassword(draft, { ...user, exposed: false }, '$6$salt$other');
    expect(usersOf(draft).map(({ role }) => role)).toEqual(['administrator', 'viewer']);
  });

  it('have names without spaces and line breaks', () => {
    expect(['root', 'a.b-c', 'x'.repeat(33), '', '1st', 'a b', 'a\nb'].map(isName)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});
