// SPDX-License-Identifier: GPL-2.0-or-later
// Writes build/reports/e2e.json: results of the lab's tests and of the screenshots, and the tests
// of each fault (tag @fault:NAME).
// --strict: fails unless all tests of faults have passed in this build
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
const reports = process.env.REPORTS ?? join(top, 'build/reports');
const FAULT = '@fault:';
const kinds = ['browser', 'snapshots', 'vm'];
const json = (path) => JSON.parse(readFileSync(path, 'utf8'));

const kindOf = (file) => kinds.find((kind) => file === kind || file.startsWith(`${kind}-`));

function results() {
  const folder = join(reports, 'results');
  const all = [];
  for (const name of readdirSync(folder).sort()) {
    const kind = kindOf(name.replace(/\.json$/, ''));
    if (kind) all.push(...json(join(folder, name)).map((test) => ({ kind, ...test })));
  }
  return all;
}

const tests = results();
const count = (status) => tests.filter((each) => each.status === status).length;
const tags = new Set(tests.flatMap((test) => test.tags ?? []));
const faults = [...tags].filter((tag) => tag.startsWith(FAULT)).sort().map((tag) => ({
  fault: tag.slice(FAULT.length),
  tests: tests
    .filter(({ tags }) => tags?.includes(tag))
    .map(({ kind, name, status }) => ({ name: `${kind}: ${name}`, status })),
}));
mkdirSync(reports, { recursive: true });
const counts = Object.fromEntries(['passed', 'failed', 'skipped'].map((s) => [s, count(s)]));
const report = JSON.stringify({ ...counts, faults, tests }, null, 2);
writeFileSync(join(reports, 'e2e.json'), `${report}\n`);

if (process.argv.includes('--strict')) {
  for (const { fault, tests: its } of faults) {
    const bad = its.filter(({ status }) => status !== 'passed');
    for (const { name, status } of bad) console.error(`${fault}: ${status}: ${name}`);
    if (bad.length > 0) process.exitCode = 1;
  }
}
