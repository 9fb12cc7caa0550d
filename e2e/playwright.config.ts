// SPDX-License-Identifier: GPL-2.0-or-later
import { defineConfig } from '@playwright/test';

/** The gateway's page; `tests/browser/run` finds it out from the running lab. */
const url = process.env['FASTPATH_URL'];
if (!url) throw new Error('FASTPATH_URL: start the tests by e2e/tests/browser/run');

const reports = process.env['REPORTS'] ?? '../build/reports';
/** What this run's results are kept under. */
const kind = process.env['RESULTS'] ?? 'browser';

export default defineConfig({
  testDir: 'tests/browser',
  // The pictures of the documents are made the same way, but only when asked for.
  testMatch: process.env['UPDATE_SCREENSHOTS'] ? 'screenshots.ts' : '*.spec.ts',
  // One gateway: what one test does to it, another would see.
  workers: 1,
  fullyParallel: false,
  timeout: 600_000,
  // The gateway is emulated, and others may have the processors. A wait ends as soon as what it
  // waits for holds.
  expect: { timeout: 60_000 },
  forbidOnly: true,
  reporter: [
    ['./tests/browser/reporter.ts', { kind }],
    ['html', { outputFolder: `${reports}/${kind}/html`, open: 'never' }],
  ],
  outputDir: `${reports}/${kind}/artefacts`,
  use: {
    baseURL: url,
    // A click waits for its element no longer than an expectation does.
    actionTimeout: 60_000,
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    screenshot: 'only-on-failure',
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-background-networking'],
    },
  },
});
