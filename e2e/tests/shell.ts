// SPDX-License-Identifier: GPL-2.0-or-later
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { shuffled } from './shuffle';

/** What a test that is left out ends with; it says why in a line `skipped: …`. */
const LEFT_OUT = 77;

/** A function `test_NAME` of a file `SUBJECT.sh`. */
interface ShellTest {
  /** With its prefix, as the shell calls it. */
  call: string;
  title: string;
  /** `@long` and the like: from a comment above the function, or in the file's first lines. */
  tags: string[];
}

const FUNCTION = /^(test_([a-z0-9_]+))\(\)/;
const tagsIn = (comments: string[]): string[] =>
  comments.filter((line) => line.startsWith('# @')).flatMap((line) => line.match(/@[a-z]+/g) ?? []);

/** The tests of one file, in their order. */
export function testsOf(text: string): ShellTest[] {
  const lines = text.split('\n');
  const ofAll = tagsIn(
    lines.slice(
      0,
      lines.findIndex((line) => !line.startsWith('#')),
    ),
  );
  const found: ShellTest[] = [];
  let above: string[] = [];
  for (const line of lines) {
    const [, call, name] = FUNCTION.exec(line) ?? [];
    if (call && name) {
      const tags = [...new Set([...ofAll, ...tagsIn(above)])];
      found.push({ call, title: name.replaceAll('_', ' '), tags });
    }
    above = line.startsWith('#') ? [...above, line] : [];
  }
  return found;
}

interface Ended {
  status: number | null;
  words: string;
}

function run(program: string, args: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const shell = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const parts: Buffer[] = [];
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.on('data', (part: Buffer) => parts.push(part));
    }
    shell.on('error', reject);
    shell.on('close', (status) => resolve({ status, words: Buffer.concat(parts).toString() }));
  });
}

const end = (words: string): string => words.trimEnd().split('\n').slice(-25).join('\n');

/**
 * The tests of a folder of shell functions. Its program `perform` runs one of them
 * (`perform SUBJECT FUNCTION`), and what all of them need once before (`perform prepare`).
 */
export function declare(folder: string): void {
  const perform = join(folder, 'perform');
  test.beforeAll(() => {
    const { status, stdout, stderr } = spawnSync(perform, ['prepare'], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${perform} prepare: ${end(stdout + stderr)}`);
  });
  const files = readdirSync(folder).filter((file) => file.endsWith('.sh'));
  for (const file of shuffled(files.sort())) {
    const subject = file.slice(0, -'.sh'.length);
    test.describe(subject, () => {
      for (const each of shuffled(testsOf(readFileSync(join(folder, file), 'utf8')))) {
        declareOne(perform, subject, each);
      }
    });
  }
}

function declareOne(perform: string, subject: string, { call, title, tags }: ShellTest): void {
  // eslint-disable-next-line no-empty-pattern -- Playwright reads the fixtures' names here
  test(title, { tag: tags }, async ({}, info) => {
    const { status, words } = await run(perform, [subject, call]);
    const log = info.outputPath('log.txt');
    writeFileSync(log, words);
    await info.attach('log', { path: log, contentType: 'text/plain' });
    // What of a test could not run is a note, too.
    for (const [, note] of words.matchAll(/^(note: .*|skipped: .*)$/gm)) {
      info.annotations.push({ type: 'note', description: note?.replace(/^note: /, '') ?? '' });
    }
    test.skip(status === LEFT_OUT, /^skipped: (.*)$/m.exec(words)?.[1] ?? 'no reason given');
    expect(status, end(words)).toBe(0);
  });
}
