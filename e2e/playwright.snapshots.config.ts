// SPDX-License-Identifier: GPL-2.0-or-later
import { fileURLToPath } from 'node:url';
import { defineConfig } from '@playwright/test';

const reports = process.env['REPORTS'] ?? '../build/reports';

/** Snapshots of the page with recorded answers. Only recording needs a gateway. */
export default defineConfig({
  name: 'snapshots',
  testDir: 'tests/snapshots',
  testMatch: process.env['FASTPATH_URL'] ? 'record.ts' : '*.spec.ts',
  fullyParallel: true,
  workers: 2,
  timeout: 180_000,
  forbidOnly: true,
  // Committed snapshots are replaced only after a review.
  updateSnapshots: process.env['RENEW'] ? 'all' : 'none',
  snapshotPathTemplate: '{testDir}/pictures/{arg}{ext}',
  expect: {
    timeout: 60_000,
    toHaveScreenshot: { animations: 'disabled', maxDiffPixels: 0, threshold: 0.01 },
  },
  reporter: [['./tests/reporter.ts'], ['./tests/snapshots/review.ts']],
  outputDir: `${reports}/snapshots/artefacts`,
  use: {
    baseURL: process.env['FASTPATH_URL'] ?? 'http://localhost/fastpath/',
    timezoneId: 'UTC',
    launchOptions: {
      // Fixed fonts, independent of this machine's.
      env: {
        ...process.env,
        FONTCONFIG_FILE: fileURLToPath(new URL('tests/snapshots/fonts.conf', import.meta.url)),
      },
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell',
      args: ['--no-sandbox', '--disable-background-networking', '--font-render-hinting=none'],
    },
  },
});
