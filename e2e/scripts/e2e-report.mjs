// SPDX-License-Identifier: GPL-2.0-or-later
// build/reports/e2e.json: what the tests in the lab and of the pictures came to, and for each fault
// the tests that show what becomes of it.
//   --check   writes nothing: every fault has tests, and each of them exists
//   --strict  every fault's tests have passed in this build
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
const reports = process.env.REPORTS ?? join(top, 'build/reports');
const logs = join(top, 'build/log');

/** "Bad input and faults": what is to be tested, whatever else is. */
const FAULTS = [
  'VLAN 0 and VLAN 4095',
  'a VLAN that is there already',
  'a PVID on two VLANs',
  'a PPPoE name of 500 characters',
  'a PPPoE name with quotes',
  'a PPPoE name with newlines',
  'a PPPoE name with Unicode',
  'an address that collides with a LAN',
  'a backup that is truncated',
  'a backup that is foreign',
  'a backup full of ../',
  'two administrators at once',
  'the browser closed during the countdown',
  'a power cut between apply and confirm',
];

const text = (...path) => {
  try {
    return readFileSync(join(...path), 'utf8');
  } catch {
    return '';
  }
};
const filesBelow = (...path) =>
  readdirSync(join(...path), { recursive: true }).map((file) => join(...path, file));

/** Whether the sources have a test of that name. */
const exists = {
  browser: (file, name) => text(top, `e2e/tests/browser/${file}.spec.ts`).includes(quoted(name)),
  vm: (subject, name) =>
    text(top, `e2e/tests/vm/${subject}.sh`).includes(`\ntest_${name.replaceAll(' ', '_')}() {`),
  page: (file, name) => text(top, 'ui/src/lib', file).includes(quoted(name)),
  rust: (crate, name) =>
    filesBelow(top, 'feeds/fastpathd/src/crates', crate, 'src')
      .filter((file) => file.endsWith('.rs'))
      .some((file) => text(file).includes(`#[test]\nfn ${name.split('::').pop()}() {`)),
};
const quoted = (name) => `'${name}'`;

/** What each test of the last build came to, by its name. */
function results() {
  const all = new Map();
  for (const file of ['browser', 'browser-timed', 'snapshots', 'vm', 'vm-four', 'vm-timed']) {
    const told = text(reports, 'results', `${file}.json`);
    const kind = file.replace(/-(timed|four)$/, '');
    for (const test of told ? JSON.parse(told) : []) all.set(`${kind}: ${test.name}`, test);
  }
  return all;
}

/** Those of the crates, from what cargo printed. */
function printed() {
  const all = new Map();
  let crate = '';
  for (const line of text(logs, 'daemon-s-crates.log').split('\n')) {
    crate = /Running unittests .*\/deps\/(\w+)-[0-9a-f]+\)/.exec(line)?.[1] ?? crate;
    const [, name, end] = /^test (\S+) \.\.\. (\w+)/.exec(line) ?? [];
    if (name) all.set(`rust: ${crate}: ${name}`, end === 'ok' ? 'passed' : 'failed');
  }
  return all;
}

/** Those of the page, from vitest's report: what the tests of that title in that file came to. */
function ofPage() {
  const report = text(reports, 'results', 'page.json');
  const files = report ? JSON.parse(report).testResults : [];
  return (named) => {
    const [kind, file, ...rest] = named.split(': ');
    if (kind !== 'page') return undefined;
    const title = titled(rest.join(': '));
    const tests = files
      .filter(({ name }) => name.endsWith(`/src/lib/${file}`))
      .flatMap(({ assertionResults }) => assertionResults.filter((each) => title.test(each.title)));
    if (tests.length === 0) return undefined;
    return tests.every(({ status }) => status === 'passed') ? 'passed' : 'failed';
  };
}

/** A title; %s in it stands for what each case of a table puts there. */
const titled = (title) =>
  new RegExp(`^${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('%s', '.*')}$`);

function wrongNames(faults) {
  const wrong = FAULTS.filter((fault) => !faults[fault]?.length).map((each) => `no test: ${each}`);
  for (const [fault, tests] of Object.entries(faults)) {
    for (const test of tests) {
      const [kind, where, ...name] = test.split(': ');
      if (!exists[kind]?.(where, name.join(': '))) wrong.push(`${fault}: there is no ${test}`);
    }
  }
  return wrong;
}

const faults = JSON.parse(text(top, 'e2e/faults.json'));
const wrong = wrongNames(faults);
if (!process.argv.includes('--check')) {
  const ran = results();
  const crates = printed();
  const page = ofPage();
  const of = (test) => ran.get(test)?.status ?? crates.get(test) ?? page(test) ?? 'not run';
  const listed = Object.entries(faults).map(([fault, tests]) => ({
    fault,
    tests: tests.map((name) => ({ name, status: of(name) })),
  }));
  const tests = [...ran].map(([name, { status, seconds }]) => ({ name, status, seconds }));
  const count = (status) => tests.filter((each) => each.status === status).length;
  const counts = Object.fromEntries(['passed', 'failed', 'skipped'].map((s) => [s, count(s)]));
  mkdirSync(reports, { recursive: true });
  const report = { ...counts, faults: listed, tests };
  writeFileSync(join(reports, 'e2e.json'), `${JSON.stringify(report, null, 2)}\n`);
  if (process.argv.includes('--strict')) {
    for (const { fault, tests: its } of listed) {
      for (const { name, status } of its.filter((each) => each.status !== 'passed')) {
        wrong.push(`${fault}: ${status}: ${name}`);
      }
    }
  }
}
for (const line of wrong) console.error(line);
process.exitCode = wrong.length > 0 ? 1 : 0;
