// SPDX-License-Identifier: GPL-2.0-or-later
// Checks the tags of gateway and browser tests. Every check of the doctor needs a test that causes
// its defect, or a line `@unbroken:CHECK: REASON` in e2e/tests/vm/lib/doctor.sh. Every group needs
// a test without findings on a healthy gateway. Unknown tags are errors.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
const read = (path) => readFileSync(join(top, path), 'utf8');

/** Tags that select tests; see docs/CONTRIBUTING.md and e2e/tests/README.md. */
const KINDS = ['core', 'long', 'timed', 'four', 'qemu', 'inspected'];

function tagged() {
  const listed = execFileSync(
    'npx',
    ['--no-install', 'playwright', 'test', '--list', '--reporter=json'].concat([
      '--project',
      'vm',
      '--project',
      'browser',
    ]),
    {
      cwd: join(top, 'e2e'),
      env: { ...process.env, RESULTS: 'tags' },
      maxBuffer: 1 << 26,
      encoding: 'utf8',
    },
  );
  const all = new Set();
  const take = ({ specs = [], suites = [] }) => {
    for (const tag of specs.flatMap(({ tags }) => tags)) all.add(tag);
    suites.forEach(take);
  };
  take(JSON.parse(listed));
  return all;
}

const tags = tagged();
const about = (kind) =>
  [...tags].filter((tag) => tag.startsWith(`${kind}:`)).map((tag) => tag.slice(kind.length + 1));
const wrong = [];

const doctor = JSON.parse(read('feeds/fastpathd/src/crates/doctor/texts/en.json'));
const reasons = read('e2e/tests/vm/lib/doctor.sh').matchAll(/^# @unbroken:([a-z0-9-]+): \S/gm);
const unbroken = [...reasons].map(([, check]) => check);
const checks = [];
for (const [group, texts] of Object.entries(doctor).filter(([, texts]) => texts.what)) {
  if (!tags.has(`silent:${group}`)) wrong.push(`no test has @silent:${group}`);
  checks.push(...Object.keys(texts).filter((key) => key !== 'what' && !key.includes('/')));
}
if (checks.length === 0) wrong.push('the doctor has no checks');
for (const check of checks) {
  const found = tags.has(`finds:${check}`);
  if (found && unbroken.includes(check)) wrong.push(`@unbroken:${check}: it has a test`);
  if (!found && !unbroken.includes(check)) wrong.push(`no test has @finds:${check}`);
}

const known = { finds: checks, silent: Object.keys(doctor) };
for (const [kind, names] of Object.entries(known)) {
  for (const name of about(kind).filter((each) => !names.includes(each))) {
    wrong.push(`@${kind}:${name}: no such check or group`);
  }
}
for (const check of unbroken.filter((each) => !checks.includes(each))) {
  wrong.push(`@unbroken:${check}: no such check`);
}
for (const tag of tags) {
  const [kind] = tag.split(':');
  if (!KINDS.includes(tag) && kind !== 'fault' && !(kind in known)) wrong.push(`@${tag}: unknown`);
}

for (const line of wrong) console.error(line);
process.exitCode = wrong.length > 0 ? 1 : 0;
