// SPDX-License-Identifier: GPL-2.0-or-later
// The crates of Cargo.lock: all come from one registry with a checksum, each in one version, under
// a licence that a tool may have; profiles/sources is stricter with those in our programs.
// CRATES_TOP names another tree.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal, refusal } from '../../profiles/sources/spdx.mjs';

const TOP = process.env.CRATES_TOP ?? join(import.meta.dirname, '../..');
const FOLDER = join(TOP, 'feeds/fastpathd/src');

/** The packages of Cargo.lock. */
function locked() {
  const sections = readFileSync(join(FOLDER, 'Cargo.lock'), 'utf8').split('[[package]]');
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

/** Crates in several versions. */
function duplicates(packages) {
  const versions = new Map();
  for (const { name, version } of packages) {
    versions.set(name, [...(versions.get(name) ?? []), version]);
  }
  const several = [...versions].filter(([, all]) => all.length > 1);
  return several.map(([name, all]) => `${name} is there in ${all.join(', ')}`);
}

/** Crates under a licence that a tool may not have. */
function licences() {
  if (!existsSync(join(FOLDER, 'Cargo.toml'))) return [];
  const args = ['metadata', '--locked', '--format-version', '1'];
  const options = { cwd: FOLDER, encoding: 'utf8', maxBuffer: 1 << 28 };
  const { packages } = JSON.parse(execFileSync('cargo', args, options));
  return packages.flatMap(({ name, version, license }) => {
    const why = refusal(normal(license ?? ''), 'test');
    return why ? [`${name} ${version}: ${why}`] : [];
  });
}

const packages = locked();
const wrong = [...sources(packages), ...duplicates(packages), ...licences()];
for (const line of wrong) console.error(`Cargo.lock: ${line}`);
process.exitCode = wrong.length > 0 ? 1 : 0;
