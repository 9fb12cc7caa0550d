// SPDX-License-Identifier: GPL-2.0-or-later
// The crates of each Cargo.lock: all come from one registry with a checksum, each in one version,
// and those that are not in the bill of materials have a free licence. Exceptions are in
// crates.json, with their reasons. CRATES_TOP names another tree.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal, refusal } from '../../profiles/sources/spdx.mjs';

const TOP = process.env.CRATES_TOP ?? join(import.meta.dirname, '../..');
const SHIPPED = 'feeds/fastpathd/src';
const WORKSPACES = [SHIPPED, `${SHIPPED}/fuzz`, 'e2e/standin'];
const EXCEPTIONS = join(TOP, 'e2e/scripts/crates.json');
const allowed = existsSync(EXCEPTIONS) ? JSON.parse(readFileSync(EXCEPTIONS, 'utf8')) : {};

/** The packages of a Cargo.lock. */
function locked(folder) {
  const sections = readFileSync(join(TOP, folder, 'Cargo.lock'), 'utf8').split('[[package]]');
  return sections.slice(1).map((section) => {
    const field = (name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(section)?.[1];
    const [name, version] = [field('name'), field('version')];
    return { name, version, source: field('source'), checksum: field('checksum') };
  });
}

/** Foreign crates that are not from the registry as it was when the file was written. */
function sources(packages) {
  const foreign = packages.filter(({ source }) => source !== undefined);
  const registry = foreign.find(({ source }) => source.startsWith('registry+'))?.source;
  return foreign.flatMap(({ name, version, source, checksum }) => {
    if (source !== registry) return [`${name} ${version} is from ${source}`];
    return checksum ? [] : [`${name} ${version} has no checksum`];
  });
}

/** Crates in several versions without a reason, and reasons without such a crate. */
function duplicates(packages, reasons) {
  const versions = new Map();
  for (const { name, version } of packages) {
    versions.set(name, [...(versions.get(name) ?? []), version]);
  }
  const several = [...versions].filter(([, all]) => all.length > 1);
  const names = new Set(several.map(([name]) => name));
  return [
    ...several
      .filter(([name]) => !reasons[name])
      .map(([name, all]) => `${name} is there in ${all.join(', ')}`),
    ...Object.keys(reasons)
      .filter((name) => !names.has(name))
      .map((name) => `crates.json has a reason for ${name}, which is there once`),
  ];
}

/** Crates under a licence that a tool may not have. */
function licences(folder) {
  const args = ['metadata', '--locked', '--format-version', '1'];
  const options = { cwd: join(TOP, folder), encoding: 'utf8', maxBuffer: 1 << 28 };
  const { packages } = JSON.parse(execFileSync('cargo', args, options));
  return packages.flatMap(({ name, version, license }) => {
    const why = refusal(normal(license ?? ''), 'test');
    return why ? [`${name} ${version}: ${why}`] : [];
  });
}

const wrong = WORKSPACES.filter((folder) => existsSync(join(TOP, folder))).flatMap((folder) => {
  const packages = locked(folder);
  const found = [...sources(packages), ...duplicates(packages, allowed[folder] ?? {})];
  // profiles/sources has the stricter check of those that are part of our programs.
  if (folder !== SHIPPED) found.push(...licences(folder));
  return found.map((what) => `${folder}/Cargo.lock: ${what}`);
});
for (const line of wrong) console.error(line);
process.exitCode = wrong.length > 0 ? 1 : 0;
