// SPDX-License-Identifier: GPL-2.0-or-later
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestInfo } from '@playwright/test';

const run = promisify(execFile);
const verbs = fileURLToPath(new URL('../../scripts/stolen.sh', import.meta.url));

/** Percent of a machine that it lacks whose results say nothing. */
const MUCH = Number(process.env['STOLEN_MUCH']);

/** The reporter's words for an attempt that is made again, and for one that is not made. */
export const AGAIN = 'again';
export const REFUSED = 'refused';

async function machine(...words: string[]): Promise<string> {
  const { stdout } = await run('bash', ['-c', '. "$0"; "$@"', verbs, ...words]);
  return stdout.trim();
}

/**
 * One attempt at a test. There is another one only if others took much of the machine
 * (e2e/scripts/stolen.sh), and then it is waited for first.
 */
export async function attempt(use: () => Promise<void>, info: TestInfo): Promise<void> {
  const tells = join(info.project.outputDir, 'stolen', info.testId);
  if (info.retry > 0) {
    if (!existsSync(`${tells}.${info.retry - 1}`)) {
      info.annotations.push({ type: REFUSED });
      throw new Error('It failed on a machine that was its own: there is no other attempt.');
    }
    await machine('calm');
  }
  const since = await machine('cpu_time');
  await use();
  if (info.status === info.expectedStatus) return;
  const taken = await machine('lost', since);
  info.annotations.push({ type: 'note', description: `others took ${taken} % of the machine` });
  if (Number(taken) < MUCH || info.retry >= info.project.retries) return;
  info.annotations.push({ type: AGAIN });
  mkdirSync(dirname(tells), { recursive: true });
  writeFileSync(`${tells}.${info.retry}`, taken);
}
