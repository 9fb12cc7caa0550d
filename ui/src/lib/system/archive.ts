// SPDX-License-Identifier: GPL-2.0-or-later

export type Flaw = 'truncated' | 'not-tar' | 'outside' | 'link' | 'foreign' | 'large';

/** An archive that is refused before anything is sent to the router. */
export class ArchiveFault extends Error {
  constructor(
    readonly flaw: Flaw,
    /** Name of the refused entry; empty if the archive as a whole is refused. */
    readonly entry = '',
  ) {
    super(`${flaw} ${entry}`);
  }
}

const BLOCK = 512;
/**
 * Maximum unpacked size in bytes. Backups have some hundred kilobytes, and small routers little
 * memory.
 */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * Returns the file names in a backup. Contents are discarded, because they include secrets.
 *
 * @throws {ArchiveFault} for archives unlike those of `sysupgrade --create-backup`
 */
export async function namesOf(file: Blob): Promise<string[]> {
  return listed(await inflated(file));
}

async function isPacked(file: Blob): Promise<boolean> {
  const magic = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  return magic[0] === 0x1f && magic[1] === 0x8b;
}

/** Returns the backup compressed with gzip, as sysupgrade expects. Safari unpacks downloads. */
export async function packed(file: Blob): Promise<Blob> {
  if (await isPacked(file)) return file;
  return new Response(file.stream().pipeThrough(new CompressionStream('gzip'))).blob();
}

async function inflated(file: Blob): Promise<Uint8Array> {
  const stream = (await isPacked(file))
    ? file.stream().pipeThrough(new DecompressionStream('gzip'))
    : file.stream();
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const next = await reader.read().catch(() => {
      throw new ArchiveFault('truncated');
    });
    if (next.done) break;
    parts.push(next.value);
    length += next.value.length;
    if (length > MAX_BYTES) {
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

/** Returns a text field of a header, up to its first NUL. */
function field(head: Uint8Array, from: number, length: number): string {
  const bytes = head.subarray(from, from + length);
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

const isZero = (byte: number): boolean => byte === 0;

const octal = (text: string): number => (/^ *[0-7]+ *$/.test(text) ? parseInt(text, 8) : NaN);

/** Returns the checksum of a header, whose checksum field counts as blanks. */
function sumOf(head: Uint8Array): number {
  return head.reduce((sum, byte, i) => sum + (i >= 148 && i < 156 ? 0x20 : byte), 0);
}

function listed(tar: Uint8Array): string[] {
  const names: string[] = [];
  const tree = new Tree();
  let at = 0;
  let [long, longTarget, paxTarget] = ['', '', ''];
  for (;;) {
    const head = tar.subarray(at, at + BLOCK);
    if (head.length < BLOCK) throw new ArchiveFault(at === 0 ? 'not-tar' : 'truncated');
    if (head.every(isZero)) {
      // The router's tar ends after two zero blocks.
      if (tar.subarray(at, at + 2 * BLOCK).every(isZero)) break;
      throw new ArchiveFault('not-tar');
    }
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
    // The router's tar ignores the size of links and folders, and would parse their content as
    // entries.
    const isEmpty = '125'.includes(kind) || (kind === '0' && /\/$/.test(name));
    if (isEmpty && size > 0) throw new ArchiveFault('not-tar');
    // GNU and POSIX tar store long names in extra entries before the named entry.
    if (kind === 'L') long = field(tar, body, size);
    else if (kind === 'K') longTarget = field(tar, body, size);
    else if (kind === 'x') {
      const records = recordsOf(tar.subarray(body, body + size));
      long = records.get('path') || long;
      paxTarget = records.get('linkpath') || paxTarget;
    } else if (kind !== 'g') {
      // Some versions of BusyBox ignore `linkpath`, so both targets must be safe.
      const target = longTarget || field(head, 157, 100);
      tree.add(name, kind, paxTarget ? [target, paxTarget] : [target]);
      [long, longTarget, paxTarget] = ['', '', ''];
      if (kind === '0') names.push(name.replace(/^\.\//, ''));
    }
    at = body + Math.ceil(size / BLOCK) * BLOCK;
  }
  if (!names.some((name) => name.startsWith('etc/config/'))) throw new ArchiveFault('foreign');
  return names.sort();
}

const RECORD = /^\d+ ([^=]*)=([\s\S]*)\n$/;

/** Parses pax records, `LENGTH KEY=VALUE\n`; the last duplicate counts. */
function recordsOf(header: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let rest = header; rest.length > 0;) {
    const length = parseInt(decoder.decode(rest.subarray(0, 8)), 10);
    const [, key = '', value = '\0'] = RECORD.exec(decoder.decode(rest.subarray(0, length))) ?? [];
    const isPath = key === '' || key.endsWith('path');
    if (!(length <= rest.length) || (isPath && value.includes('\0'))) {
      throw new ArchiveFault('not-tar');
    }
    records.set(key, value);
    rest = rest.subarray(length);
  }
  return records;
}

/** Returns the components of a path; `undefined` if it leaves the root. */
function partsOf(path: string, from: readonly string[] = []): string[] | undefined {
  if (path.startsWith('/')) return undefined;
  const parts = [...from];
  for (const part of path.split('/')) {
    if (part === '..' && parts.length === 0) return undefined;
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
}

/**
 * The entries so far. The router's tar follows links of earlier entries, so no entry may be below a
 * link. A hard link may only refer to a regular file of the archive.
 */
class Tree {
  readonly #links = new Set<string>();
  readonly #files = new Set<string>();

  add(name: string, kind: string, targets: readonly string[]): void {
    const parts = name.split('/').includes('..') ? undefined : partsOf(name);
    if (name === '' || !parts) throw new ArchiveFault('outside', name);
    const own = parts.join('/');
    const above = parts.map((_, i) => parts.slice(0, i).join('/'));
    if (above.some((folder) => this.#links.has(folder)) || this.#links.has(own)) {
      throw new ArchiveFault('outside', name);
    }
    if (kind === '0') this.#files.add(own);
    else if (kind === '1') this.#hard(name, targets);
    else if (kind === '2') this.#soft(name, own, parts.slice(0, -1), targets);
    else if (kind !== '5') throw new ArchiveFault('link', name);
  }

  #hard(name: string, targets: readonly string[]): void {
    const isFile = (target: string) => this.#files.has(partsOf(target)?.join('/') ?? '');
    if (!targets.every(isFile)) throw new ArchiveFault('link', name);
  }

  #soft(name: string, own: string, folder: readonly string[], targets: readonly string[]): void {
    const staysInside = (target: string) => target !== '' && partsOf(target, folder);
    if (!targets.every(staysInside) || this.#files.has(own)) throw new ArchiveFault('link', name);
    this.#links.add(own);
  }
}
