// SPDX-License-Identifier: GPL-2.0-or-later
// Every check of the doctor is broken on the lab's gateway by a test that names it, or says in
// e2e/tests/vm/doctor-unbroken.json why it cannot be, and has a Rust test on facts of a real one.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const checks = join(top, 'feeds/fastpathd/src/crates/doctor/src/checks');
const tests = join(top, 'e2e/tests/vm');

const texts = (folder, wanted) =>
  readdirSync(folder)
    .filter((name) => wanted.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'));

const row = /Check \{ id: "([a-z0-9-]+)", group: (?:"([a-z]+)"|GROUP)/g;
const table = texts(checks, /(?<!tests)\.rs$/).flatMap((text) => {
  const own = /const GROUP: &str = "([a-z]+)"/.exec(text)?.[1];
  return [...text.matchAll(row)].map(([, id, group]) => ({ id, group: group ?? own }));
});
const shell = texts(tests, /^doctor-.*\.sh$/).join('\n').replaceAll('\\\n', ' ');
const rust = texts(checks, /_tests\.rs$/).join('\n');
const unbroken = JSON.parse(readFileSync(join(tests, 'doctor-unbroken.json'), 'utf8'));

/** Whether a test on the gateway expects a finding of that check. */
const found = (id) =>
  new RegExp(`(\\bfinds |\\bis "[^\\n]*" )${id}(?![a-z-])(?! ok)`).test(shell);
/** Whether a test on the gateway expects that it is gone, or has nothing to say at first. */
const groups = [...shell.matchAll(/IN\(((?:"[a-z]+"(?:, )?)+)\)|GROUPS_HERE='\[(.*)\]'/g)]
  .flatMap(([, some, others]) => (some ?? others).match(/[a-z]+/g));

const faults = [];
for (const { id, group } of table) {
  if (!groups.includes(group)) faults.push(`${id}: no test that ${group} is silent when healthy`);
  if (found(id)) {
    if (id in unbroken) faults.push(`${id}: is found by a test, and in doctor-unbroken.json`);
  } else if (!(id in unbroken)) {
    faults.push(`${id}: no test in e2e/tests/vm/doctor-*.sh finds it`);
  } else if (!rust.includes(`"${id}"`)) {
    faults.push(`${id}: has no Rust test either`);
  }
}
for (const id of Object.keys(unbroken)) {
  if (!table.some((check) => check.id === id)) faults.push(`${id}: is no check`);
}
if (table.length === 0) faults.push('the table of checks was not found');
for (const fault of faults) console.error(`doctor: ${fault}`);
if (process.argv.includes('--list')) {
  for (const { id } of table) console.log(`${id}: ${found(id) ? 'broken' : unbroken[id]}`);
}
process.exit(faults.length === 0 ? 0 : 1);
