#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-or-later
// npm.mjs UI MAPS CACHE OUT: collects the archives of npm packages in the page. CACHE keeps
// downloads; every archive is verified with the lock file's hash.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundled, packages } from './inventory.mjs';

const [ui, maps, cache, out] = process.argv.slice(2);

const fits = (file, integrity) => {
  const [alg] = integrity.split('-');
  const digest = createHash(alg).update(readFileSync(file)).digest('base64');
  return integrity === `${alg}-${digest}`;
};

function fetch(name, version) {
  const folder = join(cache, 'new');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const spec = `${name}@${version}`;
  try {
    const args = ['pack', '--prefer-offline', '--json', '--pack-destination', folder, spec];
    const text = execFileSync('npm', args, { cwd: ui, encoding: 'utf8', stdio: 'pipe' });
    return join(folder, JSON.parse(text)[0].filename.replace(/^@/, '').replace('/', '-'));
  } catch (error) {
    throw new Error(
      `fetching npm package ${spec} failed: ${error.stderr || error.message}\n` +
        'It is fetched from the registry of npm once, then kept in build/sources/npm.',
    );
  }
}

mkdirSync(out, { recursive: true });
for (const { name, version, integrity, use } of packages(ui, bundled(maps))) {
  if (use !== 'linked' && use !== 'font') continue;
  const file = `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`;
  const kept = join(cache, file);
  if (!existsSync(kept) || !fits(kept, integrity)) {
    const fetched = fetch(name, version);
    if (!fits(fetched, integrity)) {
      throw new Error(`${name}@${version} does not match package-lock.json: ${integrity}`);
    }
    renameSync(fetched, kept);
  }
  copyFileSync(kept, join(out, file));
  console.log(`${file} ${integrity}`);
}
