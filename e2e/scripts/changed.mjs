// SPDX-License-Identifier: GPL-2.0-or-later
// Which tests a change asks for, by the table e2e/changed.json: prints kinds, `vm:SUBJECT` and
// `browser:FILE`, one a line, for all files that differ from BASE (origin/main, else main).
//   changed.mjs [BASE]
//   --check  prints nothing unless a file of the repository has no tests, or a line of the table
//            names files or tests that are not there
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
const table = Object.entries(JSON.parse(readFileSync(join(top, 'e2e/changed.json'), 'utf8')));
const git = (...args) =>
  execFileSync('git', ['-C', top, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
    .split('\0')
    .filter(Boolean);

/** Test files that only their own run shows. */
const OWN = [
  [/^e2e\/tests\/vm\/([a-z-]+)\.sh$/, 'vm'],
  [/^e2e\/tests\/browser\/([a-z-]+)\.spec\.ts$/, 'browser'],
];

/** The line of the table for a file: the longest path that it begins with. */
function lineOf(file) {
  const lines = table.filter(([path]) => file === path || file.startsWith(path));
  return lines.sort(([a], [b]) => b.length - a.length)[0];
}

function testsOf(file) {
  for (const [pattern, kind] of OWN) {
    const [, name] = pattern.exec(file) ?? [];
    if (name) return ['static', `${kind}:${name}`];
  }
  return lineOf(file)?.[1];
}

function isThere(test) {
  const [kind, name] = test.split(':');
  if (kind === 'vm' && name) return existsSync(join(top, `e2e/tests/vm/${name}.sh`));
  if (kind === 'browser' && name) return existsSync(join(top, `e2e/tests/browser/${name}.spec.ts`));
  const runner = readFileSync(join(top, 'e2e/scripts/kinds.sh'), 'utf8');
  return !name && runner.includes(`\ntest_${kind}() {`);
}

function check() {
  const files = git('ls-files', '-z');
  const used = new Set(files.map((file) => lineOf(file)?.[0]));
  const wrong = files.filter((file) => !testsOf(file)).map((file) => `no tests for ${file}`);
  for (const [path, tests] of table) {
    const applies = used.has(path) || (existsSync(join(top, path)) && !path.endsWith('/'));
    if (!applies) wrong.push(`no file for ${path}`);
    for (const test of tests.filter((each) => !isThere(each))) {
      wrong.push(`${path}: there is no test ${test}`);
    }
  }
  return wrong;
}

function base(wanted) {
  const names = wanted ? [wanted] : ['origin/main', 'main'];
  for (const name of names) {
    try {
      return git('merge-base', name, 'HEAD')[0].trim();
    } catch {
      // The next one.
    }
  }
  throw new Error(`git knows none of: ${names.join(', ')}`);
}

function changed(from) {
  const files = [
    ...git('diff', '--name-only', '--no-renames', '-z', from),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ];
  const tests = new Set(files.flatMap((file) => testsOf(file) ?? ['static']));
  // The whole kind has its parts.
  return [...tests].filter((test) => !test.includes(':') || !tests.has(test.split(':')[0])).sort();
}

const [argument] = process.argv.slice(2);
if (argument === '--check') {
  const wrong = check();
  for (const line of wrong) console.error(line);
  process.exitCode = wrong.length > 0 ? 1 : 0;
} else {
  for (const test of changed(base(argument))) console.log(test);
}
