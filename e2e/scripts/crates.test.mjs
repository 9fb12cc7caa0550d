// SPDX-License-Identifier: GPL-2.0-or-later
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const REGISTRY = 'source = "registry+https://registry.example"\nchecksum = "ab"\n';
const OWN = ['own', '1.0.0', ''];

function checked(packages) {
  const top = mkdtempSync(join(tmpdir(), 'crates-'));
  const folder = join(top, 'feeds/fastpathd/src');
  mkdirSync(folder, { recursive: true });
  const text = packages.map(
    ([name, version, more]) => `[[package]]\nname = "${name}"\nversion = "${version}"\n${more}`,
  );
  writeFileSync(join(folder, 'Cargo.lock'), `version = 4\n\n${text.join('\n')}`);
  const script = join(import.meta.dirname, 'crates.mjs');
  const env = { ...process.env, CRATES_TOP: top };
  const { status, stderr } = spawnSync('node', [script], { encoding: 'utf8', env });
  rmSync(top, { recursive: true });
  assert.equal(status, stderr === '' ? 0 : 1);
  return stderr;
}

test('accepts crates of one registry, each in one version', () => {
  assert.equal(checked([OWN, ['a', '1.0.0', REGISTRY], ['b', '2.0.0', REGISTRY]]), '');
});

test('rejects a crate from git, from another registry, or without a checksum', () => {
  const git = 'source = "git+https://git.example/a?rev=1#1"\n';
  assert.match(checked([['b', '2.0.0', REGISTRY], ['a', '1.0.0', git]]), /a 1\.0\.0 is from git\+/);
  const other = REGISTRY.replace('registry.example', 'other.example');
  assert.match(checked([['b', '2.0.0', REGISTRY], ['a', '1.0.0', other]]), /a 1\.0\.0 is from reg/);
  const bare = REGISTRY.split('\n')[0] + '\n';
  assert.match(checked([['a', '1.0.0', bare]]), /a 1\.0\.0 has no checksum/);
});

test('rejects a crate in two versions', () => {
  const twice = [['a', '1.0.0', REGISTRY], ['a', '2.0.0', REGISTRY]];
  assert.match(checked(twice), /a is there in 1\.0\.0, 2\.0\.0/);
});
