// SPDX-License-Identifier: GPL-2.0-or-later
// Compares the commands in the usage of ./build.sh and in the documentation with the tests, which
// declare commands in comments `@runs ./build.sh COMMAND OPTION…`.
// commands.mjs missing: prints unknown commands and options, and those without a test
// commands.mjs selects: prints the arguments of documented `e2e/tests/run` lines, one per line
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '../..');
const build = (...args) =>
  spawnSync(join(top, 'build.sh'), args, { encoding: 'utf8' }).stdout;
const tracked = (...patterns) =>
  execFileSync('git', ['-C', top, 'ls-files', '-co', '--exclude-standard', ...patterns], {
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
const read = (path) => readFileSync(join(top, path), 'utf8');
const options = (text) => [...new Set(text.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])];

/** Commands that print their usage without arguments. */
const OWN_USAGE = ['packages', 'firmware', 'feed', 'sources'];

/** Returns subcommands (`bench shape`, `shell gw`) and options of each command in the usage. */
function usage() {
  const found = new Map();
  let name;
  for (const line of build().split('\n')) {
    const [, command, rest] = /^ {2}([a-z][a-z-]*)(.*)/.exec(line) ?? [];
    if (command) name = command;
    if (!name) continue;
    const entry = found.get(name) ?? { words: new Set(), options: new Set() };
    found.set(name, entry);
    const form = rest?.split(/ {2,}/)[0] ?? '';
    for (const word of form.replace(/--[a-z-]+( [a-z]+)?/g, '').match(/\b[a-z]+\b/g) ?? []) {
      entry.words.add(word);
    }
    for (const option of options(rest ?? line)) entry.options.add(option);
  }
  return found;
}

function parsed(line, known) {
  const [name, ...rest] = line.trim().split(/\s+/);
  return {
    line: `./build.sh ${line.trim()}`,
    name,
    words: rest.filter((word) => known.get(name)?.words.has(word)),
    options: options(rest.join(' ')),
  };
}

const COMMAND = /\.\/build\.sh ([a-z][^`#|"\n,;:)]*)/g;
const commandsIn = (text, known) =>
  [...text.matchAll(COMMAND)].map(([, line]) => parsed(line.replace(/ — .*/, ''), known));

function missing() {
  const known = usage();
  const kinds = new Set(['list', ...(build('test', 'list').match(/\b[a-z]+\b/g) ?? [])]);
  const faults = new Set();
  const wanted = [...known].flatMap(([name, { words, options }]) => [
    { line: `./build.sh ${name}`, name, words: [], options: [] },
    ...[...words].map((word) => ({
      line: `./build.sh ${name} ${word}`,
      name,
      words: [word],
      options: [],
    })),
    ...[...options].map((option) => ({
      line: `./build.sh ${name} ${option}`,
      name,
      words: [],
      options: [option],
    })),
  ]);
  for (const page of tracked('*.md').filter((path) => path !== 'CHANGELOG.md')) {
    for (const command of commandsIn(read(page), known)) {
      const { name, line } = command;
      const accepted = new Set(known.get(name)?.options);
      if (OWN_USAGE.includes(name)) for (const each of options(build(name))) accepted.add(each);
      const alien = command.options.filter((option) => !accepted.has(option));
      if (!known.has(name)) faults.add(`${page}: there is no command '${line}'`);
      else if (alien.length) faults.add(`${page}: '${line}' has no ${alien.join(', ')}`);
      else wanted.push(command);
      if (name !== 'test') continue;
      for (const word of line.split(' ').slice(2)) {
        if (/^[a-z]+$/.test(word) && !kinds.has(word)) {
          faults.add(`${page}: '${line}': there is no kind '${word}'`);
        }
      }
    }
  }
  const runs = tracked('e2e')
    .filter((path) => /\.(sh|py|ts)$/.test(path))
    .flatMap((path) => [...read(path).matchAll(/# .*@runs (.*)/g)])
    .flatMap(([, line]) => commandsIn(line, known));
  const covers = (run, { name, words, options }) =>
    run.name === name &&
    words.every((word) => run.words.includes(word)) &&
    options.every((option) => run.options.includes(option));
  for (const command of wanted) {
    // Every run of a kind tests plain `test`.
    if (command.name === 'test' && command.options.length === 0) continue;
    const { name, words, options } = command;
    if (!runs.some((run) => covers(run, command))) {
      faults.add(`no test runs '${['./build.sh', name, ...words, ...options].join(' ')}'`);
    }
  }
  return [...faults];
}

/** Omits lines with placeholders (`-g NAME`) or tags. Tables write `|` as `\|`. */
function selects() {
  return tracked('*.md')
    .flatMap((page) => [...read(page).matchAll(/e2e\/tests\/run ([a-z,]+ [^`#\n]*)/g)])
    .map(([, rest]) => rest.replaceAll('\\|', '|').trim())
    .filter((rest) => rest.includes(' ') && !/-g ([A-Z]+|'part of .*)$|--grep @/.test(rest));
}

const lines = process.argv[2] === 'selects' ? selects() : missing();
if (lines.length) console.log([...new Set(lines)].join('\n'));
