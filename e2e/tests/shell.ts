// SPDX-License-Identifier: GPL-2.0-or-later
import { spawn, type StdioOptions } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@playwright/test';
import { inOwnLab, leftOut } from './labs';
import { shuffled } from './shuffle';

/** Exit status of a skipped test, whose output has a line `skipped: REASON`. */
const LEFT_OUT = 77;

/** Time reserved after a test's last wait for the machines' logs and the cleanup. */
const AFTERWARDS_MS = 120_000;

/** A function `test_NAME` of a `.sh` file with one combination of arguments. */
interface ShellTest {
  call: string[];
  title: string;
  /** Tags such as `@long`, from the comments above the function and in the file's header. */
  tags: string[];
  /** Reason after `@qemu`: why the test needs emulated machines. */
  qemu: string | undefined;
}

/** Matches a tag with an optional object: `@core`, `@finds:system-clock`. */
const TAG = /@[a-z]+(?::[a-z0-9-]+)?/g;
const FUNCTION = /^(test_([a-z0-9_]+))\(\)/;
const tagsIn = (comments: string[]): string[] =>
  comments.filter((line) => line.startsWith('# @')).flatMap((line) => line.match(TAG) ?? []);
const reasonIn = (comments: string[]): string | undefined =>
  /^# (?:@[a-z]+ )*@qemu: (.+)$/m.exec(comments.join('\n'))?.[1];

/** A combination of a test's arguments, and tags of this combination only. */
interface Case {
  values: string[];
  tags: string[];
}

/**
 * Parses `# @each A B | C D [@tag…]`, which runs a function with A C, A D, B C and B D; more lines
 * add combinations. In a file's header it applies to functions without such a line.
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

/** Throws if the function ignores an argument, because all its tests would be equal. */
function allUsed(call: string, text: string, values: string[]): void {
  const [body = ''] = text.slice(text.indexOf(`${call}()`)).split(/\n(?=\w+\(\))/, 1);
  const unused = values.find((_, at) => !new RegExp(`\\$(@|\\{?!?${at + 1})`).test(body));
  if (unused) throw new Error(`${call} does not use its value ${unused}`);
}

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
 * Runs a program in its own process group, which is killed at the end. Output goes to a file,
 * because leftover processes would hold a pipe open. Waits stop at `end` (Unix time in ms), so that
 * the test fails with their message.
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
        // The process group has already ended.
      }
      resolve({ status, words: readFileSync(log, 'utf8') });
    });
  });
}

const end = (words: string): string => words.trimEnd().split('\n').slice(-25).join('\n');

/**
 * Declares the tests in a folder of shell functions. `perform FILE FUNCTION [VALUE…]` runs one of
 * them; tests/run calls `perform prepare` first.
 */
export function declare(folder: string): void {
  const perform = join(folder, 'perform');
  const files = readdirSync(folder).filter((file) => file.endsWith('.sh'));
  for (const file of shuffled(files.sort())) {
    const subject = file.slice(0, -'.sh'.length);
    test.describe(subject, () => {
      // Tests of a file run in order on one worker.
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
