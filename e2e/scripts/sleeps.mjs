// SPDX-License-Identifier: GPL-2.0-or-later
// Waits of a fixed time in the tests: none but those that tests/sleeps.json names, each with its
// reason. A wait for a condition is `soon`, which ends as soon as it holds and gives a busy machine
// more time.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const E2E = join(import.meta.dirname, '..');
const SLEEP = /(^|[^\w-])u?sleep +["'$\d]|waitForTimeout|setTimeout\(/;
/** Recorded answers and pictures, and tests of those alone. */
const OTHER = /^tests\/(snapshots|sleeps\.json)/;

const named = JSON.parse(readFileSync(join(E2E, 'tests/sleeps.json'), 'utf8'));
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'tests'], {
  cwd: E2E,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((file) => !OTHER.test(file) && existsSync(join(E2E, file)));

const wrong = [];
for (const file of files) {
  const left = new Map((named[file] ?? []).map(([text, reason]) => [text, reason]));
  readFileSync(join(E2E, file), 'utf8')
    .split('\n')
    .forEach((line, at) => {
      const text = [...(named[file] ?? [])].find(([part]) => line.includes(part))?.[0];
      if (text !== undefined) left.delete(text);
      else if (SLEEP.test(line) && !/^\s*(#|\/\/|\*)/.test(line)) {
        wrong.push(`${file}:${at + 1}: waits a fixed time: ${line.trim()}`);
      }
    });
  for (const text of left.keys()) {
    wrong.push(`${file}: tests/sleeps.json names '${text}', which is not there`);
  }
}
for (const file of Object.keys(named)) {
  if (!files.includes(file)) wrong.push(`tests/sleeps.json names ${file}, which is not there`);
  for (const [text, reason] of named[file]) {
    if (!reason) wrong.push(`tests/sleeps.json gives no reason for '${text}' in ${file}`);
  }
}
if (wrong.length > 0) {
  console.log(wrong.join('\n'));
  process.exit(1);
}
