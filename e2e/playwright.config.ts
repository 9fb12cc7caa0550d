// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync } from 'node:fs';
import { defineConfig } from '@playwright/test';
import { labs } from './tests/labs';
import { shuffled } from './tests/shuffle';

const reports = process.env['REPORTS'] ?? '../build/reports';
/** The name that this run's results are kept under; `tests/run` sets it. */
const kept = process.env['RESULTS'];
if (!kept) throw new Error('RESULTS: start the tests by e2e/tests/run');

/** Folders whose tests are shell functions, see tests/shell.ts. */
const shells = [
  'init',
  'packages',
  'profiles',
  'sources',
  'commands',
  'vm',
  'image',
  'kernels',
  'cross',
];

/** The browser tests' files; with SHUFFLE one by one, since Playwright sorts those of a project. */
function specs(): string[] {
  // The pictures in the documents are made with the same setup, but only on request.
  if (process.env['UPDATE_SCREENSHOTS']) return ['screenshots.ts'];
  // Figures of built pages, see bench/page.
  if (process.env['PAGES']) return ['speed.ts'];
  if (!process.env['SHUFFLE']) return ['*.spec.ts'];
  const files = readdirSync(`${import.meta.dirname}/tests/browser`);
  return shuffled(files.filter((file) => file.endsWith('.spec.ts')).sort());
}

export default defineConfig({
  // One root, one gateway for each worker: another test would see the changes of this one.
  workers: Math.max(labs.length, 1),
  timeout: 1_800_000,
  // A wait that fails takes minutes. A defect that breaks many tests is known after the first ones.
  maxFailures: Number(process.env['STOP_AFTER'] ?? 0),
  // The gateway is emulated, and other work may use the CPUs. A wait ends as soon as its
  // waits for holds.
  expect: { timeout: 60_000 },
  forbidOnly: true,
  reporter: [
    ['./tests/reporter.ts'],
    ['junit', { outputFile: `${reports}/junit/${kept}.xml` }],
    ['html', { outputFolder: `${reports}/${kept}/html`, open: 'never' }],
  ],
  outputDir: `${reports}/${kept}/artefacts`,
  projects: [
    ...shells.map((name) => ({
      name,
      testDir: `tests/${name}`,
      testMatch: 'shell.spec.ts',
      // All tests are in one file; those of a subject stay together, see declare().
      fullyParallel: true,
    })),
    ...specs().map((testMatch) => ({
      name: 'browser',
      testDir: 'tests/browser',
      testMatch,
      timeout: 600_000,
      use: {
        // A click waits for its element no longer than an expectation does.
        actionTimeout: 60_000,
        viewport: { width: 1280, height: 800 },
        locale: 'en-GB',
        screenshot: 'only-on-failure' as const,
        // Chromium would draw and compress a film of each test; only failed tests keep theirs.
        trace: { mode: 'retain-on-failure' as const, screenshots: false },
        launchOptions: {
          executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell',
          args: ['--no-sandbox', '--disable-background-networking'],
        },
      },
    })),
  ],
});
