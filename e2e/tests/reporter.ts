// SPDX-License-Identifier: GPL-2.0-or-later
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Reporter, Suite, TestCase, TestResult } from '@playwright/test/reporter';

interface Result {
  name: string;
  status: Outcome;
  seconds: number;
  tags: string[];
}

/**
 * Prints a line per test, and a last line with totals for ./build.sh test. Saves results per
 * project for `e2e/scripts/e2e-report.mjs`.
 */
export default class Lines implements Reporter {
  private readonly results = new Map<string, Result[]>();
  private readonly counts = { passed: 0, failed: 0, skipped: 0 };

  private waiting = 0;

  onBegin(_: unknown, suite: Suite): void {
    this.waiting = suite.allTests().length;
  }

  printsToStdio(): boolean {
    return true;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    const name = nameOf(test);
    const seconds = (result.duration / 1000).toFixed(1);
    const why = test.annotations.find((each) => each.type === 'skip')?.description;
    const status = outcome(test, result, why);
    const kind = test.parent.project()?.name ?? '';
    const results = this.results.get(kind) ?? [];
    const own = { name, status, seconds: Number(seconds), tags: test.tags };
    this.results.set(kind, [...results, own]);
    this.counts[status] += 1;
    this.waiting -= 1;
    switch (status) {
      case 'skipped':
        this.print(`  - ${name}`);
        this.print(`skipped: ${why ?? ''}`);
        break;
      case 'passed':
        this.print(`  ✓ ${name} (${seconds} s)`);
        break;
      case 'failed':
        this.print(`  ✗ ${name} (${seconds} s)`);
        if (result.status === 'skipped') this.print('      it did not run, and says no reason');
        for (const error of result.errors) this.print(indented(plain(error)));
    }
    for (const note of test.annotations.filter((each) => each.type === 'note')) {
      this.print(`      ${note.description ?? ''}`);
    }
  }

  onError(error: { message?: string }): void {
    // Playwright's message about `maxFailures`; onEnd() reports the totals.
    if (plain(error).startsWith('Testing stopped early')) return;
    this.counts.failed += 1;
    this.print(indented(plain(error)));
  }

  onEnd(): void {
    const { passed, failed, skipped } = this.counts;
    if (this.waiting > 0) {
      this.print(`  ! ${this.waiting} tests did not run: stopped after ${failed} failures`);
    }
    this.print(`${passed} passed, ${failed} failed, ${skipped} skipped`);
    const folder = join(process.env['REPORTS'] ?? '../build/reports', 'results');
    mkdirSync(folder, { recursive: true });
    for (const [kind, results] of this.results) {
      const file = join(folder, `${kind}${process.env['PART'] ?? ''}.json`);
      writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
    }
  }

  private print(line: string): void {
    process.stdout.write(`${line}\n`);
  }
}

type Outcome = 'passed' | 'failed' | 'skipped';

/** A skip without a reason is a failure: Playwright skips tests after a failed hook. */
function outcome(test: TestCase, result: TestResult, why: string | undefined): Outcome {
  if (result.status === 'skipped') return why ? 'skipped' : 'failed';
  return result.status === test.expectedStatus ? 'passed' : 'failed';
}

function nameOf(test: TestCase): string {
  const [, , path = '', ...titles] = test.titlePath();
  const file = basename(path, '.spec.ts');
  const name = file === 'shell' ? titles : [file, ...titles];
  return name.join(': ');
}

function plain(error: { message?: string; snippet?: string }): string {
  const text = [error.message ?? '', error.snippet ?? ''].join('\n');
  // eslint-disable-next-line no-control-regex -- colours of the terminal
  return text.replace(/\u001b\[[0-9;]*m/g, '').trim();
}

function indented(text: string): string {
  const lines = text.split('\n');
  const shown = lines.length > 40 ? [...lines.slice(0, 40), '…'] : lines;
  return shown.map((line) => `      ${line}`).join('\n');
}
