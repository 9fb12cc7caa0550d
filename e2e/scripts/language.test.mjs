// SPDX-License-Identifier: GPL-2.0-or-later
// The language check finds habits that are planted in a repository of its own.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, beforeEach, test } from 'node:test';

const SCRIPT = join(import.meta.dirname, 'language.mjs');
const ROW = '| fast path | Fast Path | forwarding | `short cut` | `schneller Weg` |\n';
const top = mkdtempSync(join(tmpdir(), 'language-'));
after(() => rmSync(top, { recursive: true }));

function write(path, text) {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), text);
}

function check(...options) {
  const { status, stdout } = spawnSync('node', [SCRIPT, ...options], {
    env: { ...process.env, LANGUAGE_TOP: top },
    encoding: 'utf8',
  });
  return { status, stdout };
}

beforeEach(() => {
  rmSync(top, { recursive: true });
  mkdirSync(top);
  execFileSync('git', ['init', '-q'], { cwd: top });
  write('docs/GLOSSARY.md', ROW);
  write('README.md', 'Routers forward packets.\n');
  write('e2e/scripts/language.json', '{"exceptions": {}, "allowed": {}}');
});

test('clean: nothing is printed', () => {
  assert.deepEqual(check(), { status: 0, stdout: '' });
});

const PLANTED = {
  'a name of the glossary': ['a.rs', '/// Takes the short cut.\n', 'short cut'],
  'a name over an apostrophe': ['a.md', "It is one of one's own.\n", 'of ours'],
  'a habit in a Rust string': ['a.rs', 'fn f() {\n    log("it was told");\n}\n', 'told'],
  'a habit in a raw string': ['a.rs', 'const A: &str = r#"a "mend" b"#;\n', 'mend'],
  'a habit behind a character': ['a.rs', "let a = '\"'; // whoever\n", 'whoever'],
  'a habit in a template': ['a.ts', 'const a = `goes the other way`;\n', 'way'],
  'a habit in a shell comment': ['a.sh', 'tell() { :; } # once more\n', 'once more'],
  'a habit in a script without a suffix': ['run', '#!/bin/sh\n# beside it\n', 'beside'],
  'a habit in a catalogue': ['ui/en.json', '{\n  "a": "Look again"\n}\n', 'look at'],
  'a description of a schema': [
    'src/schema/a.json',
    '{\n  "description": "What is there"\n}\n',
    'what is',
  ],
  'a statement with what in a comment': ['a.rs', '/// What runs on a CPU.\n', 'What …'],
  'a statement with what without a full stop': ['a.ts', '/** What runs on a CPU */\n', 'What …'],
  'a statement with what over two lines': ['a.rs', '/// What runs\n/// on a CPU.\n', 'What …'],
  'a statement with what behind a sentence': ['a.sh', '# Two. What runs goes on.\n', 'What …'],
  'a statement with what behind code': ['a.c', 'int a; /* What runs on it. */\n', 'What …'],
  'a statement with what in a string': ['a.mjs', 'log("What runs", "Why?");\n', 'What …'],
  'a statement with what in a catalogue': ['ui/en.json', '{\n  "a": "What runs"\n}\n', 'What …'],
  'a statement with what in a heading': ['a.md', '## What runs\n\nWhich CPU?\n', 'What …'],
  'a statement with what in a cell': ['a.md', '| What runs | Why? |\n', 'What …'],
  'a statement with what in bold': ['a.md', 'A. **What runs.** A task.\n', 'What …'],
  'a statement with what before a question': ['a.md', 'What runs ends. Why?\n', 'What …'],
  'a habit in a diagram': ['a.md', '```mermaid\nA --> told\n```\n', 'told'],
  'a habit behind a diagram': ['a.md', '```mermaid\n```\nIt is told.\n', 'told'],
  'a German name': ['ui/de.json', '{\n  "a": "schneller Weg"\n}\n', 'schneller weg'],
};
for (const [what, [path, text, name]] of Object.entries(PLANTED)) {
  test(`planted: ${what}`, () => {
    write(path, text);
    const { status, stdout } = check();
    assert.equal(status, 1);
    assert.match(stdout, new RegExp(`${path}:[1-3]: ".*${name}`));
  });
}

test('identifiers, code in Markdown and questions are left out', () => {
  write('a.rs', 'fn tell(way: &Words) -> bool { way.beside(told) }\n');
  write('a.ts', 'const a = `${words} and ${way(told)}`;\n');
  write('b.md', 'Call `tell`.\n\n```\nmend the way\n```\n\nWhat is a flow?\n');
  assert.deepEqual(check(), { status: 0, stdout: '' });
});

test('what within a sentence, in questions and in names is left out', () => {
  write('a.rs', '/// It shows what runs.\n/// What runs, and\n/// on which CPU?\n');
  write('b.ts', "const a = 'What does 2.5G mean?'; // What::Is, `What` and WHAT\n");
  write('c.md', '| What does `a` cost? | nothing |\n\nFlows. What is one? (What else?)\n');
  write('d.sh', '# step WHAT: runs it\necho "What does $1 cost?"\n');
  write('ui/en.json', '{\n  "a": "What does “{term}” mean?"\n}\n');
  write('ui/de.json', '{\n  "a": "Was bedeutet „{term}“?"\n}\n');
  assert.deepEqual(check(), { status: 0, stdout: '' });
});

test('a finding within two names counts once', () => {
  write('docs/GLOSSARY.md', '| a | b | c | `look again` | |\n');
  write('a.md', 'Look again.\n');
  assert.match(check('--totals').stdout, /1\tin 1 files/);
});

test('ratchet: as many as allowed pass, one more fails, fewer pass', () => {
  const allow = (count) =>
    write('e2e/scripts/language.json', `{"exceptions": {}, "allowed": {"a.md": ${count}}}`);
  write('a.md', 'told\ntold\n');
  allow(2);
  assert.equal(check().status, 0);
  allow(3);
  assert.equal(check().status, 0);
  allow(1);
  assert.equal(check().status, 1);
});

test('--renew lowers the counts and does not raise their sum', () => {
  const counts = () => JSON.parse(readFileSync(join(top, 'e2e/scripts/language.json'), 'utf8'));
  write('e2e/scripts/language.json', '{"exceptions": {}, "allowed": {"a.md": 2}}');
  write('b.md', 'told\n');
  assert.equal(check('--renew').status, 0);
  assert.deepEqual(counts().allowed, { 'b.md': 1 });
  write('c.md', 'told\n');
  assert.equal(check('--renew').status, 1);
  assert.deepEqual(counts().allowed, { 'b.md': 1 });
});

test('an exception has a reason and is in the file', () => {
  const except = (list) =>
    write('e2e/scripts/language.json', JSON.stringify({ exceptions: { 'a.md': list } }));
  write('a.md', 'RFC 826 told the sender.\n');
  except([['RFC 826 told', 'quoted']]);
  assert.equal(check().status, 0);
  except([['RFC 826 told', '']]);
  assert.match(check().stdout, /has no reason/);
  except([['RFC 826 told', 'quoted'], ['RFC 827', 'quoted']]);
  assert.match(check().stdout, /'RFC 827' is not in a.md/);
});

test('catalogues have the same keys and holes', () => {
  write('ui/en.json', '{\n  "a": "{n} flows",\n  "b": "Rows"\n}\n');
  write('ui/de.json', '{\n  "a": "{m} Verbindungen",\n  "c": "Zeilen"\n}\n');
  const { status, stdout } = check();
  assert.equal(status, 1);
  assert.match(stdout, /'a' has \{n\}/);
  assert.match(stdout, /de.json lacks 'b'/);
  assert.match(stdout, /en.json lacks 'c'/);
  rmSync(join(top, 'ui/de.json'));
  assert.match(check().stdout, /ui\/de.json is missing/);
});
