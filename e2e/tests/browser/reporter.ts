// SPDX-License-Identifier: GPL-2.0-or-later
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestCase, TestResult } from '@playwright/test/reporter';

/** A line a test, and the closing line that ./build.sh test counts by. */
export default class Lines implements Reporter {
  private readonly told: { name: string; status: string; seconds: number }[] = [];
  private readonly counts = { passed: 0, failed: 0, skipped: 0 };
  private readonly kind: string;

  /** Results are kept under the name of the kind; `e2e/scripts/e2e-report.mjs` reads them. */
  constructor({ kind }: { kind: string }) {
    this.kind = kind;
  }

  printsToStdio(): boolean {
    return true;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    const name = nameOf(test);
    const seconds = (result.duration / 1000).toFixed(1);
    const good = result.status === test.expectedStatus;
    const status = result.status === 'skipped' ? 'skipped' : good ? 'passed' : 'failed';
    this.told.push({ name, status, seconds: Number(seconds) });
    if (result.status === 'skipped') {
      this.counts.skipped += 1;
      const why = test.annotations.find((each) => each.type === 'skip')?.description;
      this.print(`  - ${name}`);
      this.print(`skipped: ${why ?? 'no reason given'}`);
    } else if (result.status === test.expectedStatus) {
      this.counts.passed += 1;
      this.print(`  ✓ ${name} (${seconds} s)`);
    } else {
      this.counts.failed += 1;
      this.print(`  ✗ ${name} (${seconds} s)`);
      for (const error of result.errors) this.print(indented(plain(error)));
    }
    for (const note of test.annotations.filter((each) => each.type === 'note')) {
      this.print(`      ${note.description ?? ''}`);
    }
  }

  onError(error: { message?: string }): void {
    this.counts.failed += 1;
    this.print(indented(plain(error)));
  }

  onEnd(): void {
    const { passed, failed, skipped } = this.counts;
    this.print(`${passed} passed, ${failed} failed, ${skipped} skipped`);
    const results = join(process.env['REPORTS'] ?? '../build/reports', 'results');
    mkdirSync(results, { recursive: true });
    writeFileSync(join(results, `${this.kind}.json`), `${JSON.stringify(this.told, null, 2)}\n`);
  }

  private print(line: string): void {
    process.stdout.write(`${line}\n`);
  }
}

/** `file: title`; of shell functions `subject: title`, as their file is called. */
function nameOf(test: TestCase): string {
  const [, , file = '', ...titles] = test.titlePath();
  const name = file.endsWith('shell.spec.ts') ? titles : [file.replace('.spec.ts', ''), ...titles];
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
