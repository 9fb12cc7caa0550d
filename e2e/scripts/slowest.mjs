// SPDX-License-Identifier: GPL-2.0-or-later
// slowest.mjs SINCE: prints the twenty slowest steps and tests of the last ./build.sh test, from
// build/log/steps and from results in build/reports after SINCE (Unix time). DURATIONS=COMMAND
// writes the duration of the run into the command's row in CONTRIBUTING.md.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const build = join(dirname(fileURLToPath(import.meta.url)), '../../build');
const since = Number(process.argv[2]) * 1000;
const results = join(build, 'reports/results');

const steps = readFileSync(join(build, 'log/steps'), 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => line.split('\t'))
  .map(([seconds, name]) => ({ seconds: Number(seconds), name }));

const tests = (existsSync(results) ? readdirSync(results) : [])
  .filter((file) => file.endsWith('.json') && statSync(join(results, file)).mtimeMs >= since)
  .flatMap((file) => {
    const its = JSON.parse(readFileSync(join(results, file), 'utf8'));
    // Results of the page's unit tests are an object, counted as one step.
    if (!Array.isArray(its)) return [];
    const kind = file.replace('.json', '');
    return its.map(({ name, seconds }) => ({ seconds, name: `${kind}: ${name}` }));
  });

const slowest = [...steps, ...tests].sort((a, b) => b.seconds - a.seconds).slice(0, 20);
console.log('slowest:');
for (const { seconds, name } of slowest) {
  console.log(`  ${seconds.toFixed(0).padStart(5)} s  ${name}`);
}

if (process.env.DURATIONS) {
  const table = join(build, '../docs/CONTRIBUTING.md');
  const minutes = Math.ceil((Date.now() - since) / 60_000);
  const row = new RegExp(`^(\\| \`${process.env.DURATIONS}\` \\|[^|]*\\|)[^|]*\\|`, 'm');
  writeFileSync(table, readFileSync(table, 'utf8').replace(row, `$1 ${minutes} min |`));
}
