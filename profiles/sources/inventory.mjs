// SPDX-License-Identifier: GPL-2.0-or-later
// Parts of our programs and of the page: crates by Cargo's own resolution, npm packages by the
// lock file and by the bundler's source map.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal } from './spdx.mjs';

/** The crate of the program that is installed on a router. */
const PROGRAM = 'fastpath';
/** One target for each platform condition in the crates: pointer width, byte order, atomics. */
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

/** The `name version` of every crate that cargo tree reaches over EDGES. */
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

/** `name version` → sha256 of the archive, by Cargo.lock. */
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
 * Every crate of the Cargo.lock in FOLDER. Its use: `linked` into a program of the router,
 * `build` for code that runs during the build (macros, build scripts), `test` for the rest.
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
 * The folder `node_modules/…` of the package that SOURCE of a source map belongs to. Code
 * that the bundler adds itself has a name with a NUL, or one of its own.
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

/** The folders `node_modules/…` that the source maps below FOLDER name. */
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

/** Packages of fonts, of which the page has a file. */
const FONTS = ['node_modules/@fontsource-variable/inter'];

/** Packages that name no licence; by their file LICENSE. */
const BY_FILE = { 'svelte-toolbelt': 'MIT' };

/** Every package of the package-lock.json in FOLDER; `linked` are those of BUNDLED. */
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
        licence: typeof license === 'string' ? license : (BY_FILE[full] ?? ''),
        use: FONTS.includes(path) ? 'font' : bundled.includes(path) ? 'linked' : 'build',
        integrity,
        hash: {
          alg: alg.toUpperCase().replace('SHA', 'SHA-'),
          content: Buffer.from(digest, 'base64').toString('hex'),
        },
      };
    });
}
