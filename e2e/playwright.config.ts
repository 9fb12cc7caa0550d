// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync } from 'node:fs';
import { defineConfig } from '@playwright/test';
import { labs } from './tests/labs';
import { shuffled } from './tests/shuffle';

const reports = process.env['REPORTS'] ?? '../build/reports';
/** Name under which the results of this run are saved; `tests/run` sets it. */
const kept = process.env['RESULTS'];
if (!kept) throw new Error('RESULTS: start the tests by e2e/tests/run');

/** Folders with tests that are shell functions, see tests/shell.ts. */
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

/** Files of the browser tests; one project each with SHUFFLE, since Playwright sorts files. */
function specs(): string[] {
  // Pictures for the documents use the same setup, but are only made on request.
  if (process.env['UPDATE_SCREENSHOTS']) return ['screenshots.ts'];
  // Measurements of built pages, see bench/page.
  if (process.env['PAGES']) return ['speed.ts'];
  if (!process.env['SHUFFLE']) return ['*.spec.ts'];
  const files = readdirSync(`${import.meta.dirname}/tests/browser`);
  return shuffled(files.filter((file) => file.endsWith('.spec.ts')).sort());
}

export default defineConfig({
  // Tests of one gateway must not run in parallel, because each sees the changes of the others.
  workers: Math.max(labs.length, 1),
  timeout: 1_800_000,
  // A failing wait takes minutes, and a defect that breaks many tests shows in the first ones.
  maxFailures: Number(process.env['STOP_AFTER'] ?? 0),
  // Generous, because the gateway is emulated and CPUs may be busy. A wait ends early if it
  // succeeds.
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
      // All shell tests are in one file; declare() keeps the tests of a subject together.
      fullyParallel: true,
    })),
    ...specs().map((testMatch) => ({
      name: 'browser',
      testDir: 'tests/browser',
      testMatch,
      timeout: 600_000,
      use: {
        // Same limit for a click as for an expectation.
        actionTimeout: 60_000,
        viewport: { width: 1280, height: 800 },
        locale: 'en-GB',
        screenshot: 'only-on-failure' as const,
        // Without screenshots, which would have to be compressed for every test.
        trace: { mode: 'retain-on-failure' as const, screenshots: false },
        launchOptions: {
          executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell',
          args: ['--no-sandbox', '--disable-background-networking'],
        },
      },
    })),
  ],
});
