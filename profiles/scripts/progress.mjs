// SPDX-License-Identifier: GPL-2.0-or-later
// progress.mjs FOLDERS: converts the output of OpenWrt's build on stdin to progress lines. FOLDERS
// is a file with the folders to compile, one per line.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

// Matches ` make[3] -C package/libs/zlib compile`, and goals such as host-compile and install.
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

export class Progress {
  #waiting;
  #begun = new Set();
  #total;

  constructor(folders) {
    this.#waiting = new Set(folders);
    this.#total = this.#waiting.size;
  }

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
    // Folders needed only by host tools are in no list.
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
