// SPDX-License-Identifier: GPL-2.0-or-later
import { spawn, type StdioOptions } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { inOwnLab, leftOut } from './labs';
import { shuffled } from './shuffle';

/** The status of a test that is left out; a line `skipped: …` has the reason. */
const LEFT_OUT = 77;

/** The time of a test after its last wait: to keep the machines' logs and to clean up. */
const AFTERWARDS_MS = 120_000;

/** A function `test_NAME` of a file `SUBJECT.sh`, with one combination of its values. */
interface ShellTest {
  /** With its prefix, and its values, as the shell calls it. */
  call: string[];
  title: string;
  /** `@long` and the like: from a comment above the function, or in the file's first lines. */
  tags: string[];
  /** The text behind `@qemu`: why it needs emulated machines. */
  qemu: string | undefined;
}

/** A tag, and its object: `@core`, `@finds:system-clock`. */
const TAG = /@[a-z]+(?::[a-z0-9-]+)?/g;
const FUNCTION = /^(test_([a-z0-9_]+))\(\)/;
const tagsIn = (comments: string[]): string[] =>
  comments.filter((line) => line.startsWith('# @')).flatMap((line) => line.match(TAG) ?? []);
const reasonIn = (comments: string[]): string | undefined =>
  /^# (?:@[a-z]+ )*@qemu: (.+)$/m.exec(comments.join('\n'))?.[1];

/** One combination of a test's values, and its own tags. */
interface Case {
  values: string[];
  tags: string[];
}

/**
 * `# @each A B | C D [@tag…]` runs a function with A C, A D, B C and B D; further such lines add
 * combinations. In a file's first lines it is for all functions that have none of their own.
 */
function casesIn(comments: string[]): Case[] {
  return comments.flatMap((line) => {
    const [, choices = '', tags = ''] = /^# @each ([^@]+)(.*)$/.exec(line) ?? [];
    const lists = choices.split('|').map((list) => list.split(' ').filter(Boolean));
    const products = lists.reduce<string[][]>(
      (all, list) => all.flatMap((values) => list.map((value) => [...values, value])),
      [[]],
    );
    return products
      .filter((values) => values.length > 0)
      .map((values) => ({ values, tags: [`# ${tags}`] }));
  });
}

/** Throws for a value that the function does not use: its tests would all be the same one. */
function allUsed(call: string, text: string, values: string[]): void {
  const [body = ''] = text.slice(text.indexOf(`${call}()`)).split(/\n(?=\w+\(\))/, 1);
  const unused = values.find((_, at) => !new RegExp(`\\$(@|\\{?!?${at + 1})`).test(body));
  if (unused) throw new Error(`${call} does not use its value ${unused}`);
}

/** The tests of one file, in their order. */
export function testsOf(text: string): ShellTest[] {
  const lines = text.split('\n');
  const head = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('#')),
  );
  const found: ShellTest[] = [];
  let above: string[] = [];
  for (const line of lines) {
    const [, call, name] = FUNCTION.exec(line) ?? [];
    if (call && name) {
      const each = [casesIn(above), casesIn(head)].find((cases) => cases.length > 0);
      for (const { values, tags: own } of each ?? [{ values: [], tags: [] }]) {
        allUsed(call, text, values);
        const about = [...head, ...above, ...own].filter((text) => !text.startsWith('# @each '));
        found.push({
          call: [call, ...values],
          title: [name, ...values].join(' ').replaceAll('_', ' '),
          tags: [...new Set(tagsIn(about))],
          qemu: reasonIn(about),
        });
      }
    }
    above = line.startsWith('#') ? [...above, line] : [];
  }
  return found;
}

interface Ended {
  status: number | null;
  words: string;
}

/**
 * Runs it with its output in a file, not a pipe: leftover processes would hold a pipe open. It is a
 * process group of its own, which ends with it. `end` is in milliseconds since 1970: no wait of the
 * shell continues after it, so that the test fails with the wait's own message.
 */
function run(program: string, args: string[], log: string, end: number): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const words = openSync(log, 'w');
    const stdio: StdioOptions = ['ignore', words, words];
    const env = { ...inOwnLab(), WAIT_UNTIL: String(Math.floor(end / 1000)) };
    const shell = spawn(program, args, { env, stdio, detached: true });
    closeSync(words);
    shell.on('error', reject);
    shell.on('exit', (status) => {
      try {
        if (shell.pid) process.kill(-shell.pid, 'SIGKILL');
      } catch {
        // Nobody is left.
      }
      resolve({ status, words: readFileSync(log, 'utf8') });
    });
  });
}

const end = (words: string): string => words.trimEnd().split('\n').slice(-25).join('\n');

/**
 * The tests of a folder of shell functions. Its program `perform` runs one of them
 * (`perform SUBJECT FUNCTION [VALUE…]`); tests/run has it make the common parts (`perform
 * prepare`).
 */
export function declare(folder: string): void {
  const perform = join(folder, 'perform');
  const files = readdirSync(folder).filter((file) => file.endsWith('.sh'));
  for (const file of shuffled(files.sort())) {
    const subject = file.slice(0, -'.sh'.length);
    test.describe(subject, () => {
      // By one worker, one after the other.
      test.describe.configure({ mode: 'default' });
      for (const each of shuffled(testsOf(readFileSync(join(folder, file), 'utf8')))) {
        declareOne(perform, subject, each);
      }
    });
  }
}

function declareOne(perform: string, subject: string, each: ShellTest): void {
  const { call, title, tags, qemu } = each;
  const annotation = qemu ? [{ type: 'qemu', description: qemu }] : [];
  // eslint-disable-next-line no-empty-pattern -- Playwright reads the fixtures' names here
  test(title, { tag: tags, annotation }, async ({}, info) => {
    const without = leftOut(info);
    test.skip(without !== undefined, without);
    const log = info.outputPath('log.txt');
    const last = Date.now() + info.timeout - AFTERWARDS_MS;
    const { status, words } = await run(perform, [subject, ...call], log, last);
    await info.attach('log', { path: log, contentType: 'text/plain' });
    // A part of a test that could not run is a note, too.
    for (const [, note] of words.matchAll(/^(note: .*|skipped: .*)$/gm)) {
      info.annotations.push({ type: 'note', description: note?.replace(/^note: /, '') ?? '' });
    }
    const why = /^skipped: (.+)$/m.exec(words)?.[1];
    test.skip(status === LEFT_OUT && why !== undefined, why);
    expect(status, end(words)).toBe(0);
    for (const tag of tags.filter((each) => each.startsWith('@finds:'))) {
      expect(words.split('\n'), 'findings of the doctor').toContain(
        tag.replace('@finds:', 'found: '),
      );
    }
  });
}
