// SPDX-License-Identifier: GPL-2.0-or-later
/** Which backups are refused before they are sent: format, names, links, more than 32 MiB. */

/** Why an archive is not a backup of a router's configuration. */
export type Flaw = 'not-gzip' | 'truncated' | 'not-tar' | 'outside' | 'link' | 'foreign' | 'large';

/** An archive that is refused before anything is sent to the router. */
export class ArchiveFault extends Error {
  constructor(
    readonly flaw: Flaw,
    /** The entry it is about, if it is about one. */
    readonly entry = '',
  ) {
    super(`${flaw} ${entry}`);
  }
}

const BLOCK = 512;
/** A configuration has some hundred kilobytes; this is the limit of a small router's memory. */
const LONGEST = 32 * 1024 * 1024;

/**
 * The names of the files in a backup: nothing of their contents is kept, secrets among them.
 *
 * @throws {ArchiveFault} for everything that `sysupgrade --create-backup` would not have made
 */
export async function namesOf(file: Blob): Promise<string[]> {
  return listed(await inflated(file));
}

async function inflated(file: Blob): Promise<Uint8Array> {
  const magic = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (magic[0] !== 0x1f || magic[1] !== 0x8b) throw new ArchiveFault('not-gzip');
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const next = await reader.read().catch(() => {
      throw new ArchiveFault('truncated');
    });
    if (next.done) break;
    parts.push(next.value);
    length += next.value.length;
    if (length > LONGEST) {
      await reader.cancel();
      throw new ArchiveFault('large');
    }
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const decoder = new TextDecoder();

/** A field of a header up to its first NUL. */
function field(head: Uint8Array, from: number, length: number): string {
  const bytes = head.subarray(from, from + length);
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

const octal = (text: string): number => (/^ *[0-7]+ *$/.test(text) ? parseInt(text, 8) : NaN);

/** The sum of a header's bytes, its own field taken as blanks. */
function sumOf(head: Uint8Array): number {
  return head.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 0x20 : byte), 0);
}

function listed(tar: Uint8Array): string[] {
  const names: string[] = [];
  let at = 0;
  let long = '';
  for (;;) {
    const head = tar.subarray(at, at + BLOCK);
    if (head.length < BLOCK) throw new ArchiveFault(at === 0 ? 'not-tar' : 'truncated');
    if (head.every((byte) => byte === 0)) break;
    const size = octal(field(head, 124, 12));
    if (octal(field(head, 148, 8)) !== sumOf(head) || Number.isNaN(size)) {
      throw new ArchiveFault('not-tar');
    }
    const body = at + BLOCK;
    if (body + size > tar.length) throw new ArchiveFault('truncated');
    const kind = field(head, 156, 1) || '0';
    const prefix = field(head, 345, 155);
    const own = field(head, 0, 100);
    const name = long || (prefix ? `${prefix}/${own}` : own);
    long = '';
    // GNU's and POSIX' ways to write a longer name: an entry before the one it belongs to.
    if (kind === 'L') long = field(tar, body, size);
    else if (kind === 'x') long = pathOf(decoder.decode(tar.subarray(body, body + size)));
    else if (kind !== 'g') {
      check(name, kind, field(head, 157, 100));
      if (kind === '0') names.push(name.replace(/^\.\//, ''));
    }
    at = body + Math.ceil(size / BLOCK) * BLOCK;
  }
  if (!names.some((name) => name.startsWith('etc/config/'))) throw new ArchiveFault('foreign');
  return names.sort();
}

const pathOf = (records: string): string => /(?:^|\n)\d+ path=([^\n]*)/.exec(records)?.[1] ?? '';

const leaves = (path: string) => path.startsWith('/') || path.split('/').includes('..');

function check(name: string, kind: string, target: string): void {
  if (name === '' || leaves(name)) throw new ArchiveFault('outside', name);
  // A link may precede a file below it.
  if ((kind === '1' || kind === '2') && leaves(target)) throw new ArchiveFault('link', name);
  if (!['0', '1', '2', '5'].includes(kind)) throw new ArchiveFault('link', name);
}
