// SPDX-License-Identifier: GPL-2.0-or-later
import { readdirSync } from 'node:fs';
import { defineConfig } from '@playwright/test';
import { labs } from './tests/labs';
import { shuffled } from './tests/shuffle';

const reports = process.env['REPORTS'] ?? '../build/reports';
/** Name of this run's results, set by `tests/run`. */
const kept = process.env['RESULTS'];
if (!kept) throw new Error('RESULTS: start the tests by e2e/tests/run');

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

/** Files of browser tests; with SHUFFLE one project each, because Playwright sorts files. */
function specs(): string[] {
  if (process.env['UPDATE_SCREENSHOTS']) return ['screenshots.ts'];
  if (process.env['PAGES']) return ['speed.ts'];
  if (!process.env['SHUFFLE']) return ['*.spec.ts'];
  const files = readdirSync(`${import.meta.dirname}/tests/browser`);
  return shuffled(files.filter((file) => file.endsWith('.spec.ts')).sort());
}

export default defineConfig({
  // Tests on one gateway must not run in parallel: each sees the other's changes.
  workers: Math.max(labs.length, 1),
  timeout: 1_800_000,
  // Failing waits take minutes, and a common defect already breaks the first tests.
  maxFailures: Number(process.env['STOP_AFTER'] ?? 0),
  // Generous for an emulated gateway and busy CPUs. Successful waits end early.
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
      // Required for several workers, because all shell tests are in one file.
      fullyParallel: true,
    })),
    ...specs().map((testMatch) => ({
      name: 'browser',
      testDir: 'tests/browser',
      testMatch,
      timeout: 600_000,
      use: {
        actionTimeout: 60_000,
        viewport: { width: 1280, height: 800 },
        locale: 'en-GB',
        screenshot: 'only-on-failure' as const,
        // Without screenshots, whose compression costs time in every test.
        trace: { mode: 'retain-on-failure' as const, screenshots: false },
        launchOptions: {
          executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell',
          args: ['--no-sandbox', '--disable-background-networking'],
        },
      },
    })),
  ],
});
