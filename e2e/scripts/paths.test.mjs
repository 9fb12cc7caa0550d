// SPDX-License-Identifier: GPL-2.0-or-later
// Runs the check on defects in a temporary repository.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const SCRIPT = join(import.meta.dirname, 'paths.mjs');
const top = mkdtempSync(join(tmpdir(), 'paths-'));
after(() => rmSync(top, { recursive: true }));
mkdirSync(join(top, 'docs/design'), { recursive: true });
mkdirSync(join(top, 'feeds/fastpathd/src/crates/flows'), { recursive: true });
execFileSync('git', ['init', '-q'], { cwd: top });

function check(text) {
  writeFileSync(join(top, 'docs/design/flows.md'), text);
  const { status, stdout } = spawnSync('node', [SCRIPT], {
    env: { ...process.env, PATHS_TOP: top },
    encoding: 'utf8',
  });
  return [status, stdout.trim()];
}

test('accepts paths of the tree, and paths of a router', () => {
  assert.deepEqual(check('`crates/flows`, `docs/design/flows.md`, `etc/config`'), [0, '']);
});

test('reports a path that is missing', () => {
  const said = [1, 'docs/design/flows.md:2: there is no crates/flows/src/gone.rs'];
  assert.deepEqual(check('# Flows\n`crates/flows/src/gone.rs`'), said);
});

test('checks links to files and headings', () => {
  const good = '# Two parts, `x`\n[a](#two-parts-x) [b](https://a.org/b) [c](../)';
  assert.deepEqual(check(good), [0, '']);
  assert.deepEqual(check('[a](gone.md)'), [1, 'docs/design/flows.md:1: there is no gone.md']);
  assert.match(check('[a](#gone)')[1], /has no heading #gone/);
});
