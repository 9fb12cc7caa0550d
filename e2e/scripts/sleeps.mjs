// SPDX-License-Identifier: GPL-2.0-or-later
// Rejects fixed delays in tests without a comment `@sleep: REASON` at most 15 lines above, one per
// delay. Tests should wait with `soon`, which ends early and gives busy machines more time.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const E2E = join(import.meta.dirname, '..');
const SLEEP = /(^|[^\w-])u?sleep +["'$\d]|waitForTimeout|setTimeout\(/;
const COMMENT = /^\s*(#|\/\/|\*)/;
const FAR = 15;

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'tests'], {
  cwd: E2E,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  // Snapshots have no gateway to wait for.
  .filter((file) => !file.startsWith('tests/snapshots') && existsSync(join(E2E, file)));

const wrong = [];
for (const file of files) {
  const tags = [];
  const unused = () => wrong.push(`${file}:${tags.shift()}: no wait for this @sleep`);
  readFileSync(join(E2E, file), 'utf8')
    .split('\n')
    .forEach((line, at) => {
      while (tags.length > 0 && at + 1 - tags[0] > FAR) unused();
      if (COMMENT.test(line)) {
        if (/@sleep: \S/.test(line)) tags.push(at + 1);
      } else if (SLEEP.test(line) && tags.shift() === undefined) {
        wrong.push(`${file}:${at + 1}: waits a fixed time: ${line.trim()}`);
      }
    });
  while (tags.length > 0) unused();
}
for (const line of wrong) console.log(line);
process.exitCode = wrong.length > 0 ? 1 : 0;
