// SPDX-License-Identifier: GPL-2.0-or-later
// Writes docs/design/sources.md, a table of source files with the first paragraph of each, its
// purpose. --check only compares, and names the files of the daemon that have none.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const target = join(top, 'docs/design/sources.md');
const crates = 'feeds/fastpathd/src/crates';

/** Folders, how a file begins to speak of itself, and whether it has to. */
const areas = [
  { title: 'Crates', under: crates, name: /\.rs$/, begin: /^\/\/! ?/, required: true },
  {
    title: 'eBPF programs',
    under: 'feeds/fastpathd/src/bpf',
    name: /\.[ch]$/,
    begin: /^(\/\*| \*) ?/,
    required: true,
  },
  { title: 'Page', under: 'ui/src', name: /\.(ts|svelte)$/, begin: /^ *(\/\*\*| \*) ?/ },
];
const tests = /(^|[/_.])(tests?|fake|fixture)([/_.]|$)/;

/** The first paragraph of the comment that `lines` begin with, as one line. */
function paragraph(lines, begin) {
  const text = [];
  for (const line of lines) {
    if (!begin.test(line)) break;
    const rest = line.replace(begin, '').replace(/\*\/\s*$/, '').trim();
    if (!rest && text.length) break;
    if (rest) text.push(rest);
    if (line.includes('*/')) break;
  }
  return text.join(' ');
}

function purpose(file, begin) {
  const lines = readFileSync(join(top, file), 'utf8').split('\n');
  const start = lines.findIndex((line) => begin.test(line) && !line.includes('SPDX'));
  return start < 0 ? '' : paragraph(lines.slice(start), begin);
}

const listed = (under) =>
  execFileSync('git', ['ls-files', '--', under], { cwd: top, encoding: 'utf8' }).split('\n');

const cell = (text) => text.replaceAll('|', '\\|');
const silent = [];

function table({ title, under, name, begin, required }) {
  const groups = new Map();
  for (const file of listed(under).filter((each) => name.test(each) && !tests.test(each))) {
    const text = purpose(file, begin);
    if (!text && required) silent.push(file);
    if (!text) continue;
    const folder = dirname(file);
    if (!groups.has(folder)) groups.set(folder, []);
    groups.get(folder).push(`| \`${basename(file)}\` | ${cell(text)} |`);
  }
  const tables = [...groups].map(
    ([folder, rows]) => `### ${folder}\n\n| file | purpose |\n| --- | --- |\n${rows.join('\n')}\n`,
  );
  return `## ${title}\n\n${tables.join('\n')}`;
}

const after = `# Source files

Generated from the first paragraph of each file by \`node e2e/scripts/sources-doc.mjs\`,
without tests.

${areas.map(table).join('\n')}`;
if (silent.length) {
  console.error(`no comment has the purpose of these files:\n${silent.join('\n')}`);
  process.exit(1);
}
if (!process.argv.includes('--check')) writeFileSync(target, after);
else if (readFileSync(target, 'utf8') !== after) {
  console.error('docs/design/sources.md is not up to date: node e2e/scripts/sources-doc.mjs');
  process.exit(1);
}
