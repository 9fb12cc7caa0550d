// SPDX-License-Identifier: GPL-2.0-or-later
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reporter, TestCase, TestResult } from '@playwright/test/reporter';

interface Seen {
  name: string;
  parts: string[];
}

const kinds = { expected: 'old', actual: 'new', diff: 'difference' } as const;

/** Reporter that writes a page with the old and new pictures and their differences. */
export default class Review implements Reporter {
  private readonly folder = join(process.env['REPORTS'] ?? '../build/reports', 'snapshots');
  private readonly seen: Seen[] = [];

  onBegin(): void {
    rmSync(join(this.folder, 'review'), { recursive: true, force: true });
    mkdirSync(join(this.folder, 'review'), { recursive: true });
  }

  onTestEnd(_test: TestCase, result: TestResult): void {
    if (result.status === 'passed') return;
    const parts: string[] = [];
    let name = '';
    for (const { name: attached, path } of result.attachments) {
      const found = /^(.+)-(expected|actual|diff)\.png$/.exec(attached);
      if (!found?.[1] || !found[2] || !path) continue;
      name = found[1];
      const part = kinds[found[2] as keyof typeof kinds];
      try {
        copyFileSync(path, join(this.folder, 'review', `${name}.${part}.png`));
        parts.push(part);
      } catch {
        // A new picture has no old version.
      }
    }
    if (parts.length > 0) this.seen.push({ name, parts });
  }

  onEnd(): void {
    const page = join(this.folder, 'review', 'index.html');
    writeFileSync(page, html(this.seen.sort((a, b) => (a.name < b.name ? -1 : 1))));
    if (this.seen.length > 0) process.stdout.write(`review ${page}\n`);
  }
}

function html(all: readonly Seen[]): string {
  const figure = (name: string, part: string) =>
    `<figure><figcaption>${part}</figcaption><img src="${name}.${part}.png" alt=""></figure>`;
  const section = ({ name, parts }: Seen) =>
    `<section><h2>${name}</h2><div>${parts.map((each) => figure(name, each)).join('')}</div>` +
    `<p><code>e2e/tests/snapshots/run --accept ${name}</code></p></section>`;
  return `<!doctype html><meta charset="utf-8"><title>Pictures that differ</title><style>
body { font: 14px system-ui; margin: 2rem } div { display: flex; gap: 1rem; overflow-x: auto }
figure { margin: 0; flex: none } img { border: 1px solid #888; background: #fff }
</style><h1>${all.length} pictures differ</h1>${all.map(section).join('')}\n`;
}
