// SPDX-License-Identifier: GPL-2.0-or-later
// Lists the parts of our programs and the page: crates as resolved by Cargo, and npm packages by
// lock file and source maps.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal } from './spdx.mjs';

const PROGRAM = 'fastpath';
/** Targets that cover all platform conditions in the crates: pointer width, byte order, atomics. */
const TARGETS = [
  'aarch64-unknown-linux-musl',
  'armv7-unknown-linux-musleabihf',
  'mips64-unknown-linux-muslabi64',
  'riscv64gc-unknown-linux-musl',
  'x86_64-unknown-linux-musl',
];

function cargo(args, folder) {
  try {
    return execFileSync('cargo', args, {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    throw new Error(`cargo ${args[0]} in ${folder} failed:\n${error.stderr ?? error.message}`);
  }
}

/** Returns `name version` of every crate that `cargo tree` reaches over EDGES. */
function reached(folder, edges) {
  const found = new Set();
  for (const target of TARGETS) {
    const args = ['tree', '--locked', '--prefix', 'none', '-f', '{p}', '-e', edges];
    const text = cargo([...args, '--target', target, '-p', PROGRAM], folder);
    for (const line of text.split('\n')) {
      const [, name, version] = /^(\S+) v(\S+)/.exec(line) ?? [];
      if (name) found.add(`${name} ${version}`);
    }
  }
  return found;
}

/** Returns the sha256 of each crate's archive in Cargo.lock, by `name version`. */
function checksums(folder) {
  const sums = new Map();
  const lock = readFileSync(join(folder, 'Cargo.lock'), 'utf8');
  for (const section of lock.split('[[package]]').slice(1)) {
    const field = (name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(section)?.[1];
    sums.set(`${field('name')} ${field('version')}`, field('checksum'));
  }
  return sums;
}

/**
 * Returns every crate of FOLDER's Cargo.lock. Its use is `linked` in the router's program, `build`
 * for code that runs during the build (macros, build scripts), or `test`.
 */
export function crates(folder) {
  const linked = reached(folder, 'normal,no-proc-macro');
  const build = reached(folder, 'normal,build');
  const sums = checksums(folder);
  const { packages } = JSON.parse(
    cargo(['metadata', '--locked', '--format-version', '1'], folder),
  );
  const list = packages.map(({ name, version, license, source, description }) => {
    const id = `${name} ${version}`;
    return {
      kind: 'cargo',
      name,
      version,
      licence: license ? normal(license) : '',
      use: linked.has(id) ? 'linked' : build.has(id) ? 'build' : 'test',
      own: source === null,
      description: source === null ? description : undefined,
      hash: sums.get(id) && { alg: 'SHA-256', content: sums.get(id) },
    };
  });
  const known = new Set(list.map(({ name, version }) => `${name} ${version}`));
  const lost = [...sums.keys()].filter((id) => !known.has(id));
  if (lost.length > 0) throw new Error(`cargo metadata does not know: ${lost.join(', ')}`);
  return list;
}

/**
 * Returns the folder `node_modules/…` of a source map's SOURCE. Names with a NUL or below vite/ are
 * the bundler's own code.
 */
function packageOf(source) {
  const words = source.split('/');
  const last = words.lastIndexOf('node_modules');
  if (last === -1) {
    return /\0|^vite\//.test(source) ? 'node_modules/vite' : undefined;
  }
  const first = words.indexOf('node_modules');
  return words.slice(first, last + (words[last + 1].startsWith('@') ? 3 : 2)).join('/');
}

export function bundled(folder) {
  const found = new Set();
  const maps = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.map'));
  if (maps.length === 0) throw new Error(`no source maps below ${folder}: was the page built?`);
  for (const name of maps) {
    for (const source of JSON.parse(readFileSync(join(folder, name), 'utf8')).sources) {
      const path = packageOf(source ?? '');
      if (path) found.add(path);
    }
  }
  return [...found].sort();
}

/** Font packages whose files are part of the page. */
const FONTS = ['node_modules/@fontsource-variable/inter'];

/** Returns every package of FOLDER's package-lock.json. BUNDLED packages are `linked`. */
export function packages(folder, bundled) {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  for (const path of bundled) {
    if (!lock[path]) throw new Error(`the page holds ${path}, which package-lock.json lacks`);
  }
  return Object.entries(lock)
    .filter(([path]) => path !== '')
    .map(([path, { name, version, license, integrity }]) => {
      const [alg, digest] = (integrity ?? '').split(/-(.*)/s);
      const full = name ?? path.slice(path.lastIndexOf('node_modules/') + 13);
      if (!digest) throw new Error(`package-lock.json has no integrity of ${full} ${version}`);
      return {
        kind: 'npm',
        name: full,
        version,
        licence: typeof license === 'string' ? license : '',
        use: FONTS.includes(path) ? 'font' : bundled.includes(path) ? 'linked' : 'build',
        integrity,
        hash: {
          alg: alg.toUpperCase().replace('SHA', 'SHA-'),
          content: Buffer.from(digest, 'base64').toString('hex'),
        },
      };
    });
}
