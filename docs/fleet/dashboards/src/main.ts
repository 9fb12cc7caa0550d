// SPDX-License-Identifier: GPL-2.0-or-later
/** Writes each dashboard as `UID.json` into a folder; --check only compares. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { fleet } from './fleet.js';
import { flows } from './flows.js';
import { gateway } from './gateway.js';
import { protection } from './protection.js';

const check = process.argv.includes('--check');
const folder = process.argv.slice(2).find((argument) => argument !== '--check') ?? '.';

for (const board of [fleet, gateway, protection, flows]) {
  const file = join(folder, `${board.uid ?? ''}.json`);
  const text = `${JSON.stringify(board, null, 2)}\n`;
  if (!check) {
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${file} is not as the generator makes it: npm run generate`);
    process.exitCode = 1;
  }
}
