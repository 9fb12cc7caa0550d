// SPDX-License-Identifier: GPL-2.0-or-later
// Writes the table of checks in docs/doctor.md from the doctor's texts; --check compares instead.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const target = join(top, 'docs/doctor.md');
const doctor = JSON.parse(
  readFileSync(join(top, 'feeds/fastpathd/src/crates/doctor/texts/en.json'), 'utf8'),
);
const [begin, end] = ['<!-- checks -->', '<!-- end of checks -->'];

const cell = (text) => text.replaceAll('|', '\\|');

function row(id, texts, all) {
  const cases = Object.keys(all).filter((key) => key.startsWith(`${id}/`));
  const titles = [texts.title, ...cases.map((key) => all[key].title)].filter(Boolean);
  const fixes = [texts.fix, ...cases.map((key) => all[key].fix)].filter(Boolean);
  const found = titles.join('; ');
  return `| \`${id}\` | ${cell(found)} | ${cell(texts.remedy ?? '')} | ${cell(fixes.join('; '))} |`;
}

function table(group, all) {
  const rows = Object.entries(all)
    .filter(([id]) => id !== 'what' && !id.includes('/'))
    .map(([id, texts]) => row(id, texts, all));
  return [
    `### ${group}`,
    '',
    '| check | finding | remedy | one click |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ];
}

const tables = Object.entries(doctor)
  .filter(([group]) => group !== 'general')
  .flatMap(([group, texts]) => table(group, texts));
const before = readFileSync(target, 'utf8');
const [head, rest] = before.split(begin);
const tail = rest.split(end)[1];
const after = `${head}${begin}\n\n${tables.join('\n')}\n${end}${tail}`;
if (process.argv.includes('--check')) {
  if (before !== after) {
    console.error('docs/doctor.md is not up to date: node e2e/scripts/doctor-doc.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(target, after);
}
