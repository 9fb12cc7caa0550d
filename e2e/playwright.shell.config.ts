// SPDX-License-Identifier: GPL-2.0-or-later
import { defineConfig } from '@playwright/test';

const reports = process.env['REPORTS'] ?? '../build/reports';
const kind = process.env['RESULTS'] ?? 'shell';

/** Folders whose tests are shell functions, see tests/shell.ts: one project each. */
const FOLDERS = ['init', 'packages', 'profiles', 'sources', 'vm'];

export default defineConfig({
  projects: FOLDERS.map((name) => ({ name, testDir: `tests/${name}`, testMatch: 'shell.spec.ts' })),
  // One gateway, one root: what one test does to it, another would see.
  workers: 1,
  fullyParallel: false,
  timeout: 1_800_000,
  forbidOnly: true,
  reporter: [
    ['./tests/browser/reporter.ts', { kind }],
    ['junit', { outputFile: `${reports}/junit/${kind}.xml` }],
  ],
  outputDir: `${reports}/${kind}`,
});
