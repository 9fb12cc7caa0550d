// SPDX-License-Identifier: GPL-2.0-or-later
// progress.mjs FOLDERS: converts the output of OpenWrt's build on stdin into progress lines.
// FOLDERS is a file with the folders to compile, one per line. The build's output stays in its log.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

// Matches ` make[3] -C package/libs/zlib compile`, and host-compile, install and the like.
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

// Counts folders when their compilation starts; in parallel builds some may not have finished.
export class Progress {
  #waiting;
  #begun = new Set();
  #total;

  constructor(folders) {
    this.#waiting = new Set(folders);
    this.#total = this.#waiting.size;
  }

  // Takes a line of the build and the elapsed seconds; returns the text to show, or nothing.
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

  // Packages of a linked feed appear with the link's target path.
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
