// SPDX-License-Identifier: GPL-2.0-or-later
// The tags of the tests on the gateway and in the browser: each fault of e2e/faults.json has a
// test, the doctor's checks are broken by tests or e2e/tests/vm/doctor-unbroken.json says why they
// cannot be, each of its groups is silent on a healthy gateway, and no tag is misspelt.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
const json = (path) => JSON.parse(readFileSync(join(top, path), 'utf8'));

/** Tags that tests are chosen by; docs/CONTRIBUTING.md and e2e/tests/README.md describe them. */
const KINDS = ['core', 'long', 'timed', 'four', 'qemu', 'inspected'];

/** Every test that has the tag, as Playwright lists them; without their `@`. */
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

const faults = json('e2e/faults.json');
for (const [fault, what] of Object.entries(faults)) {
  if (!tags.has(`fault:${fault}`)) wrong.push(`no test has @fault:${fault} (${what})`);
}

const doctor = json('feeds/fastpathd/src/crates/doctor/texts/en.json');
const unbroken = json('e2e/tests/vm/doctor-unbroken.json');
const checks = [];
for (const [group, texts] of Object.entries(doctor).filter(([, texts]) => texts.what)) {
  if (!tags.has(`silent:${group}`)) wrong.push(`no test has @silent:${group}`);
  checks.push(...Object.keys(texts).filter((key) => key !== 'what' && !key.includes('/')));
}
if (checks.length === 0) wrong.push('the doctor has no checks');
for (const check of checks) {
  const found = tags.has(`finds:${check}`);
  if (found && check in unbroken) wrong.push(`doctor-unbroken.json: ${check} has a test`);
  if (!found && !(check in unbroken)) wrong.push(`no test has @finds:${check}`);
}

const known = {
  fault: Object.keys(faults),
  finds: checks,
  silent: Object.keys(doctor),
};
for (const [kind, names] of Object.entries(known)) {
  for (const name of about(kind).filter((each) => !names.includes(each))) {
    wrong.push(`@${kind}:${name}: no such ${kind === 'fault' ? 'fault' : 'check or group'}`);
  }
}
for (const check of Object.keys(unbroken).filter((each) => !checks.includes(each))) {
  wrong.push(`doctor-unbroken.json: ${check} is not a check`);
}
for (const tag of tags) {
  if (!KINDS.includes(tag) && !(tag.split(':')[0] in known)) wrong.push(`@${tag}: unknown`);
}

for (const line of wrong) console.error(line);
process.exitCode = wrong.length > 0 ? 1 : 0;
