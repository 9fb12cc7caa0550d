// SPDX-License-Identifier: GPL-2.0-or-later
// progress.mjs FOLDERS: turns the output of OpenWrt's build on stdin into progress lines. FOLDERS
// is a file with the folders it will compile, one a line. The build's own output stays in its log.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

// ` make[3] -C package/libs/zlib compile`; host-compile, install and the like come with it.
const ENTER = /^\s*make\[\d+\] -C (\S+) (\S+)/;
const PHASE = /^\s*make\[1\] (target\/install|package\/install|package\/index|checksum)/;
const FAULT = /^\s*ERROR: (\S+).* failed to build/;

const PHASES = {
  'target/install': 'images',
  'package/install': 'root file system',
  'package/index': 'index of packages',
  checksum: 'checksums',
};

export function span(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return `${Math.floor(seconds)} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// A folder counts once, when its compiling begins. With several at once it may not have ended.
export class Progress {
  #waiting;
  #begun = new Set();
  #total;

  constructor(folders) {
    this.#waiting = new Set(folders);
    this.#total = this.#waiting.size;
  }

  // One line of the build, and how many seconds it has run; answers the text to show, or nothing.
  line(text, seconds) {
    const fault = FAULT.exec(text);
    if (fault) return `✗ ${fault[1]} failed`;
    const phase = PHASE.exec(text);
    if (phase) return this.#at(PHASES[phase[1]], seconds);
    const [, path, goal] = ENTER.exec(text) ?? [];
    if (!goal?.endsWith('compile')) return undefined;
    const folder = this.#known(path);
    if (this.#begun.has(folder)) return undefined;
    this.#begun.add(folder);
    // A folder that only a host tool needs is in no list.
    if (!this.#waiting.delete(folder)) this.#total += 1;
    return this.#at(folder, seconds);
  }

  // A linked feed's package goes by the path that the link leads to.
  #known(path) {
    if (!path.startsWith('/')) return path;
    const end = `/${path.split('/').pop()}`;
    const all = [...this.#waiting, ...this.#begun];
    return all.find((f) => f.startsWith('package/feeds/') && f.endsWith(end)) ?? end.slice(1);
  }

  #at(what, seconds) {
    const begun = this.#begun.size;
    const left = this.#waiting.size;
    return `${begun} of ${this.#total}, ${left} to come, ${span(seconds)}: ${what}`;
  }
}

async function main(file) {
  const folders = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const progress = new Progress(folders);
  const started = Date.now();
  const terminal = process.stdout.isTTY;
  for await (const text of createInterface({ input: process.stdin })) {
    const shown = progress.line(text, (Date.now() - started) / 1000);
    if (shown === undefined) continue;
    process.stdout.write(terminal ? `\r\x1b[K  … ${shown}` : `  … ${shown}\n`);
  }
  if (terminal) process.stdout.write('\r\x1b[K');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv[2]);
