// SPDX-License-Identifier: GPL-2.0-or-later
// Checks the crates in Cargo.lock: one registry, checksums, one version each, licences acceptable
// for tools. profiles/sources is stricter for linked crates. CRATES_TOP selects another tree.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normal, refusal } from '../../profiles/sources/spdx.mjs';

const TOP = process.env.CRATES_TOP ?? join(import.meta.dirname, '../..');
const FOLDER = join(TOP, 'feeds/fastpathd/src');

function locked() {
  const sections = readFileSync(join(FOLDER, 'Cargo.lock'), 'utf8').split('[[package]]');
  return sections.slice(1).map((section) => {
    const field = (name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(section)?.[1];
    const [name, version] = [field('name'), field('version')];
    return { name, version, source: field('source'), checksum: field('checksum') };
  });
}

/** Returns crates from outside the registry or without a checksum. */
function sources(packages) {
  const foreign = packages.filter(({ source }) => source !== undefined);
  const registry = foreign.find(({ source }) => source.startsWith('registry+'))?.source;
  return foreign.flatMap(({ name, version, source, checksum }) => {
    if (source !== registry) return [`${name} ${version} is from ${source}`];
    return checksum ? [] : [`${name} ${version} has no checksum`];
  });
}

function duplicates(packages) {
  const versions = new Map();
  for (const { name, version } of packages) {
    versions.set(name, [...(versions.get(name) ?? []), version]);
  }
  const several = [...versions].filter(([, all]) => all.length > 1);
  return several.map(([name, all]) => `${name} is there in ${all.join(', ')}`);
}

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
