// SPDX-License-Identifier: GPL-2.0-or-later
// Licences that a program under GPL-2.0 may link, and the check that refuses others.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { normal, parse, refusal } from '../../../profiles/sources/spdx.mjs';

test('allows linking licences compatible with GPL-2.0', () => {
  for (const licence of [
    'MIT',
    'BSD-3-Clause',
    'MPL-2.0',
    'GPL-2.0-only',
    'LGPL-2.1+',
    'MIT OR Apache-2.0',
    'MIT/Apache-2.0',
    'Apache-2.0 / MIT',
    'Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT',
    'Apache-2.0 WITH LLVM-exception',
    '(MIT OR Apache-2.0) AND Unicode-3.0',
    'CC-BY-NC-4.0 OR (MIT AND (Zlib OR Apache-2.0))',
  ]) {
    assert.equal(refusal(licence, 'linked'), undefined, licence);
  }
});

test('refuses linking incompatible licences', () => {
  for (const licence of [
    'Apache-2.0',
    'GPL-3.0-only',
    'GPL-3.0-or-later',
    'AGPL-3.0-only',
    'CC-BY-NC-4.0',
    'CC-BY-SA-4.0',
    'BSD-4-Clause',
    'OpenSSL',
    'MIT AND Apache-2.0',
    'MIT AND CC-BY-NC-4.0',
    'Apache-2.0 OR GPL-3.0-only',
    'Apache-2.0 WITH Swift-exception',
    'Apache-2.0+',
    'Proprietary',
    'UNLICENSED',
    'LicenseRef-Company',
  ]) {
    assert.match(refusal(licence, 'linked') ?? '', /does not go with GPL-2\.0/, licence);
  }
});

test('allows only free licences for tools', () => {
  for (const licence of ['Apache-2.0', 'GPL-3.0-or-later', 'BlueOak-1.0.0', 'MIT']) {
    assert.equal(refusal(licence, 'build'), undefined, licence);
  }
  for (const licence of ['CC-BY-NC-4.0', 'UNLICENSED', 'MIT AND BUSL-1.1']) {
    assert.match(refusal(licence, 'build') ?? '', /not known to be free/, licence);
    assert.match(refusal(licence, 'test') ?? '', /not known to be free/, licence);
  }
});

test('refuses missing and invalid licences', () => {
  for (const use of ['linked', 'build', 'test']) {
    assert.match(refusal('', use), /names no licence/);
    assert.match(refusal(undefined, use), /names no licence/);
    for (const text of ['MIT OR', '(MIT', 'MIT)', 'SEE LICENSE IN LICENSE.txt', 'AND MIT', 'a b']) {
      assert.match(refusal(text, use), /is not an SPDX expression/, text);
    }
  }
});

test('binds AND closer than OR', () => {
  assert.deepEqual(parse('MIT OR ISC AND Zlib'), { any: ['MIT', { all: ['ISC', 'Zlib'] }] });
  assert.equal(normal(' MIT/Apache-2.0'), 'MIT OR Apache-2.0');
});

/** Runs the check on the real bill modified by CHANGE; returns exit status and output. */
function checked(change) {
  const bill = JSON.parse(readFileSync(process.env.SBOM, 'utf8'));
  change(bill.components);
  const folder = mkdtempSync(join(tmpdir(), 'licences-'));
  const file = join(folder, 'sbom.json');
  writeFileSync(file, JSON.stringify(bill));
  const { status, stderr } = spawnSync('node', [process.env.LICENCES, file], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  return { status, stderr };
}

const named = (components, name) => components.find((part) => part.name === name);

test('accepts the unmodified bundle', () => {
  assert.deepEqual(
    checked(() => undefined),
    { status: 0, stderr: '' },
  );
});

test('refuses incompatible licences of a linked crate or npm package', () => {
  for (const name of ['serde_json', 'svelte']) {
    for (const licence of ['CC-BY-NC-4.0', 'Apache-2.0', 'Proprietary']) {
      const { status, stderr } = checked((parts) => {
        named(parts, name).licenses = [{ license: { id: licence } }];
      });
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`/${name}@\\S+ \\(linked\\): ${licence} does not go`));
    }
    const { status, stderr } = checked((parts) => {
      named(parts, name).licenses = [{ license: { name: 'NOASSERTION' } }];
    });
    assert.equal(status, 1);
    assert.match(stderr, /names no licence/);
  }
});

test('accepts Apache-2.0 and refuses non-free licences for a tool', () => {
  const licence = (id) => (parts) => {
    named(parts, 'vite').licenses = [{ license: { id } }];
  };
  assert.equal(checked(licence('Apache-2.0')).status, 0);
  assert.equal(checked(licence('BUSL-1.1')).status, 1);
});
