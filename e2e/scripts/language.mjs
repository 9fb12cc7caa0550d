// SPDX-License-Identifier: GPL-2.0-or-later
// Plain English, and complete catalogues. Names that docs/GLOSSARY.md lists as not called, and
// some habits, are counted in strings, comments and docs. No file may have more of them than
// language.json allows; a file that it does not name may have none.
//
//   language.mjs               fails and prints the lines of files with more than allowed
//   language.mjs --list PATH…  prints every finding in these files and folders
//   language.mjs --totals      findings by name
//   language.mjs --renew       writes the counts as they are now, unless there are more in all
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isGerman, textOf } from './language-text.mjs';

const TOP = process.env.LANGUAGE_TOP ?? join(import.meta.dirname, '../..');
const COUNTS = join(TOP, 'e2e/scripts/language.json');
const GLOSSARY = 'docs/GLOSSARY.md';

/** Generated files, and those about these names. */
const LEFT_OUT = [
  /^docs\/(GLOSSARY|API)\.md$/,
  /^e2e\/scripts\/language/,
  /^e2e\/tests\/snapshots\/(answers|pictures)/,
  /^ui\/src\/lib\/api\/types[-a-z]*\.ts$/,
  /^profiles\/patches\/.*\.patch$/,
];

/** The beginning of a comment, a string, a cell or a sentence, before its first word. */
const BEGIN = [
  /^[\s/*!#>_"“(-]*/,
  /[.:;?!|¦][*_"”’)]*\s+["“(*_]*/,
  /\s{2}["“(*_]*/, // behind code, which is left out
]
  .map((each) => each.source)
  .join('|');

/** The habits: name, expression. The last section of the glossary describes them. */
const HABITS = [
  ['what is …', /\bwhat (?:is|was|are|were|has|have|had|it)\b(?![^.?!¦]*\?)/gi],
  ['What …', new RegExp(`(?<=${BEGIN})What\\b(?!::)`, 'g')],
  ['told', /\b(?:told|tells?|telling)\b/gi],
  ['words', /(?<!-bit )\bwords\b|\b(?:in|without) (?:a )?words?\b|\bworded\b|\bwording\b/gi],
  [
    'is no …',
    /(?<!\bthere )\b(?:is|are|was|were) (?:no|none)\b(?! longer| more than| less than)/gi,
  ],
  ['way', /(?<![-\w]|\b(?:either|all the|both|by the|under) )ways?\b(?! to (?!the\b|an?\b)|-)/gi],
  ['mend', /\bmend(?:s|ed|ing)?\b/gi],
  ['look at', /\blook(?:s|ed|ing)? (?:again|at|whether|after)\b/gi],
  [
    'take over, put back, let go',
    new RegExp(
      [
        '\\b(?:take|takes|took|taken|taking) (?:over|back)\\b',
        '\\b(?:put|puts|putting|give|gives|gave|given|giving|goes|go|gone) back\\b(?! to)',
        '\\b(?:let|lets|letting) go\\b',
      ].join('|'),
      'gi',
    ),
  ],
  ['anew, once more, beside', /\b(?:anew|once more|beside)\b/gi],
  ['by hand', /\bby hand\b/gi],
  ['as it came', /\bas (?:it|they) (?:came|comes?)\b/gi],
  ['hear', /\b(?:hear|hears|heard)\b/gi],
  [
    'in vain, for want of, becomes of, find out',
    /\bin vain\b|\bfor want of\b|\b(?:becomes?|became) of\b|\bfind(?:s|ing)? out\b/gi,
  ],
  ['whoever, of ours', /\bwhoever\b|\bof (?:ours|yours|theirs|one['’]s own)\b/gi],
];

const read = (path) => readFileSync(join(TOP, path), 'utf8');
const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The source of an expression for a name, with either kind of apostrophe. */
const source = (name) => escaped(name).replaceAll(/['’]/g, "['’]").replaceAll(' ', '\\s+');

/** Names in code quotes in a column of the glossary's tables, as one expression. */
function namesOf(column) {
  if (!existsSync(join(TOP, GLOSSARY))) return [];
  const names = read(GLOSSARY)
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').slice(1, -1))
    .filter((cells) => cells.length === 5)
    .flatMap((cells) => [...cells[column].matchAll(/`([^`]+)`/g)].map(([, name]) => name))
    .map(source)
    .sort((a, b) => b.length - a.length);
  const either = `(?<![\\p{L}\\p{N}_-])(?:${names.join('|')})(?![\\p{L}\\p{N}_-])`;
  return names.length === 0 ? [] : [[null, new RegExp(either, 'giu')]];
}

const tracked = () =>
  execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: TOP,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(TOP, path)));

/** A question, which ends before a full stop, a cell or code. */
const QUESTION = /^What\b(?:(?! {2})[^.?!|]|\.(?=\S))*\?/;

/** A line's text without `What` of questions. A question may end in a later line. */
function withoutQuestions(lines, at) {
  let rest = '';
  // Spaces at the end are code; an empty line ends a paragraph.
  for (let end = at; /\S$/.test(lines[end] ?? '') && end < at + 3; end++) {
    rest += ` ${(lines[end + 1] ?? '').trim().replace(/^[/*!#>]+\s*/, '')}`;
  }
  return lines[at].replaceAll(/\bWhat\b/g, (what, index) =>
    QUESTION.test(lines[at].slice(index) + rest) ? '¦' : what,
  );
}

/** Names in a line that no exception covers. */
function inLine(line, names, exceptions, used) {
  let text = line;
  for (const [part] of exceptions) {
    if (text.includes(part)) {
      used.add(part);
      text = text.replaceAll(part, '¦');
    }
  }
  const taken = [];
  return names.flatMap(([name, pattern]) => {
    const all = [...text.matchAll(pattern)].map((match) => [match.index, match[0]]);
    const free = all.filter(([at, it]) => !taken.some(([a, b]) => at < b && a < at + it.length));
    taken.push(...free.map(([at, it]) => [at, at + it.length]));
    return free.map(([, it]) => name ?? it.toLowerCase());
  });
}

/** `[{path, line, name, text}]`, and exceptions that name no text of the file. */
function findings(paths, exceptions) {
  const english = [...HABITS, ...namesOf(3)];
  const german = namesOf(4);
  const found = [];
  const wrong = [];
  for (const path of paths) {
    if (LEFT_OUT.some((pattern) => pattern.test(path))) continue;
    if (!/\.(rs|ts|svelte|sh|c|h|mjs|js|md|json|init|defaults)$|\/[^.]*$|^[^.]*$/.test(path)) {
      continue;
    }
    const lines = textOf(path, read(path));
    if (lines === null) continue;
    const own = exceptions[path] ?? [];
    const used = new Set();
    const names = isGerman(path) ? german : english;
    lines.forEach((text, at) => {
      if (!/\p{L}/u.test(text)) return;
      const said = withoutQuestions(lines, at);
      for (const name of inLine(said, names, own, used)) {
        found.push({ path, line: at + 1, name, text: text.trim().replaceAll(/\s+/g, ' ') });
      }
    });
    for (const [part, reason] of own) {
      if (!used.has(part)) wrong.push(`language.json: '${part}' is not in ${path}`);
      if (!reason) wrong.push(`language.json: '${part}' in ${path} has no reason`);
    }
  }
  for (const path of Object.keys(exceptions)) {
    if (!paths.includes(path)) wrong.push(`language.json: there is no ${path}`);
  }
  return { found, wrong };
}

const flat = (value, at = '') =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => flat(inner, at ? `${at} › ${key}` : key))
    : [[at, String(value)]];

/** Folders whose English the router sends. */
const SENT_BY_ROUTER = {
  'ui/src/lib/health/findings': 'feeds/fastpathd/src/crates/doctor/texts/en.json',
};

const holes = (text) => [...new Set(text.match(/\{[\w.]+\}/g) ?? [])].sort().join(' ');

/** A nested key is the same as one with dots. */
const dotted = (value) =>
  new Map(flat(value).map(([at, text]) => [at.replaceAll(' › ', '.'), text]));

/** Keys that one language lacks, and texts with other holes. */
function incomplete(paths) {
  const wrong = [];
  const catalogues = paths.filter((path) => /(^|\/)(en|de)\.json$/.test(path));
  for (const folder of new Set(catalogues.map((path) => dirname(path)))) {
    if (Object.values(SENT_BY_ROUTER).some((path) => dirname(path) === folder)) continue;
    const [en, de] = ['en', 'de'].map((language) => {
      const own = join(folder, `${language}.json`);
      const path = language === 'en' ? (SENT_BY_ROUTER[folder] ?? own) : own;
      if (catalogues.includes(path)) return dotted(JSON.parse(read(path)));
      wrong.push(`${path} is missing`);
      return new Map();
    });
    if (en.size === 0 || de.size === 0) continue;
    for (const [key, text] of en) {
      if (!de.has(key)) wrong.push(`${folder}/de.json lacks '${key}'`);
      else if (holes(text) !== holes(de.get(key))) {
        wrong.push(`${folder}: '${key}' has ${holes(text)} in English, ${holes(de.get(key))}`);
      }
    }
    for (const key of de.keys()) {
      if (!en.has(key)) wrong.push(`${folder}/en.json lacks '${key}'`);
    }
  }
  return wrong;
}

const tally = (found, key) => {
  const counts = new Map();
  for (const one of found) counts.set(one[key], (counts.get(one[key]) ?? 0) + 1);
  return counts;
};
const show = ({ path, line, name, text }) =>
  `${path}:${line}: "${name}": ${text.length > 160 ? `${text.slice(0, 160)}…` : text}`;
const total = (counts) => [...counts.values()].reduce((sum, count) => sum + count, 0);

function renew(named, counts) {
  const before = Object.values(named.allowed ?? {}).reduce((sum, count) => sum + count, 0);
  if (named.allowed !== undefined && total(counts) > before) {
    console.log(`${total(counts)} findings, ${before} are allowed: rewrite the new ones`);
    return 1;
  }
  const allowed = Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = JSON.stringify({ exceptions: named.exceptions ?? {}, allowed }, null, 2);
  writeFileSync(COUNTS, `${text}\n`);
  console.log(`${total(counts)} findings in ${counts.size} files, ${before} before`);
  return 0;
}

function main([option, ...rest]) {
  const named = existsSync(COUNTS) ? JSON.parse(readFileSync(COUNTS, 'utf8')) : {};
  const paths = tracked();
  const { found, wrong } = findings(paths, named.exceptions ?? {});
  const counts = tally(found, 'path');
  if (option === '--list') {
    const asked = found.filter(
      ({ path }) => rest.length === 0 || rest.some((one) => path.startsWith(one)),
    );
    console.log(asked.map(show).join('\n'));
    return 0;
  }
  if (option === '--totals') {
    const names = [...tally(found, 'name')].sort(([, a], [, b]) => b - a);
    console.log(names.map(([name, count]) => `${count}\t${name}`).join('\n'));
    console.log(`${found.length}\tin ${counts.size} files`);
    return 0;
  }
  if (option === '--renew') return renew(named, counts);
  for (const [path, count] of counts) {
    const allowed = named.allowed?.[path] ?? 0;
    if (count <= allowed) continue;
    wrong.push(`${path}: ${count} findings, ${allowed} allowed; docs/GLOSSARY.md has the terms`);
    wrong.push(...found.filter((one) => one.path === path).map((one) => `  ${show(one)}`));
  }
  wrong.push(...incomplete(paths));
  if (wrong.length > 0) console.log(wrong.join('\n'));
  return wrong.length > 0 ? 1 : 0;
}

process.exit(main(process.argv.slice(2)));
