// SPDX-License-Identifier: GPL-2.0-or-later
// The bill of materials is valid CycloneDX and complete. Expected lists come from the lock files.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const { env } = process;
const bill = JSON.parse(readFileSync(env.SBOM, 'utf8'));
const lock = readFileSync(env.LOCK, 'utf8');
const page = Object.entries(JSON.parse(readFileSync(env.PAGE, 'utf8')).packages);
const by = new Map(bill.components.map((part) => [part.purl, part]));
const use = (part) => part.properties.find(({ name }) => name === 'fastpath:use').value;
const HASHES = { 'SHA-256': 64, 'SHA-512': 128 };

const crates = lock
  .split('[[package]]\n')
  .slice(1)
  .map((text) => [...text.matchAll(/^(\w+) = "(.*)"$/gm)].map((found) => found.slice(1)))
  .map((pairs) => Object.fromEntries(pairs));

const encoded = (text) => text.replaceAll('+', '%2B').replaceAll('@', '%40');

test('lists every crate with version, licence and hash', () => {
  assert.ok(crates.length > 90);
  for (const { name, version, checksum } of crates) {
    const place = checksum ? 'cargo' : 'generic/fastpath';
    const part = by.get(`pkg:${place}/${name}@${encoded(version)}`);
    assert.ok(part, `${name} ${version}`);
    assert.equal(part.version, version);
    assert.equal(part.licenses.length, 1);
    if (checksum) assert.deepEqual(part.hashes, [{ alg: 'SHA-256', content: checksum }]);
  }
});

test('distinguishes linked crates from the rest', () => {
  const of = (word) => bill.components.filter((part) => use(part) === word);
  const linked = new Set(of('linked').map(({ name }) => name));
  for (const name of ['tokio', 'serde_json', 'aya', 'fastpathd', 'sha2', 'svelte']) {
    assert.ok(linked.has(name), `${name} is linked`);
  }
  for (const name of ['proptest', 'syn', 'serde_derive', 'windows-sys', 'vite', 'typescript']) {
    assert.ok(!linked.has(name), `${name} is not`);
  }
  for (const part of bill.components) {
    const required = ['linked', 'font', 'source'].includes(use(part));
    assert.equal(part.scope, required ? 'required' : 'excluded');
  }
  // The programs depend on linked parts, fonts and sources.
  const [{ ref, dependsOn }] = bill.dependencies;
  assert.equal(ref, bill.metadata.component['bom-ref']);
  const parts = ['linked', 'font', 'source'].map((kind) => of(kind).length);
  assert.equal(
    dependsOn.length,
    parts.reduce((sum, number) => sum + number),
  );
});

test('lists every npm package with version, licence and hash', () => {
  for (const [path, { version, license, integrity }] of page) {
    if (path === '') continue;
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const part = by.get(`pkg:npm/${encoded(name)}@${encoded(version)}`);
    assert.ok(part, `${path} ${version}`);
    const [{ license: one, expression }] = part.licenses;
    assert.equal(expression ?? one.id, license, name);
    const content = Buffer.from(integrity.split('-')[1], 'base64').toString('hex');
    assert.deepEqual(part.hashes, [{ alg: 'SHA-512', content }]);
  }
});

test('includes the archives of npm packages in the page', () => {
  const inside = bill.components
    .filter((part) => part.purl?.startsWith('pkg:npm/') && ['linked', 'font'].includes(use(part)))
    .map(({ name, version }) => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  assert.ok(inside.length > 0);
  assert.deepEqual(readdirSync(env.NPM).sort(), inside.sort());
});

test('follows CycloneDX 1.6', () => {
  assert.equal(bill.bomFormat, 'CycloneDX');
  assert.equal(bill.specVersion, '1.6');
  assert.equal(bill.version, 1);
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  assert.match(bill.metadata.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const references = [bill.metadata.component, ...bill.components].map((part) => part['bom-ref']);
  assert.equal(new Set(references).size, references.length, 'one of each');
  for (const part of bill.components) {
    assert.ok(['library', 'file'].includes(part.type), part.name);
    assert.ok(part.name && part.version && part['bom-ref'], part.name);
    assert.ok(['required', 'excluded'].includes(part.scope), part.name);
    for (const { alg, content } of part.hashes ?? []) {
      assert.match(content, new RegExp(`^[0-9a-f]{${HASHES[alg]}}$`), part.name);
    }
    for (const { license, expression } of part.licenses) {
      assert.ok((license?.id === undefined) !== (expression === undefined), part.name);
      assert.match(license?.id ?? expression, /^[A-Za-z0-9.()+ -]+$/, part.name);
    }
  }
  for (const { ref, dependsOn } of bill.dependencies) {
    for (const name of [ref, ...dependsOn]) assert.ok(references.includes(name), name);
  }
});
