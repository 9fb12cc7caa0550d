// SPDX-License-Identifier: GPL-2.0-or-later

export interface Entry {
  id: number;
  /** Unix time in milliseconds. */
  time: number;
  /** Syslog priority: facility × 8 + severity. */
  priority: number;
  msg: string;
}

/** Levels of the filter, each with all worse severities. */
export const levels = ['all', 'warning', 'error'] as const;
export type Level = (typeof levels)[number];

const severity = (entry: Entry) => entry.priority & 7;
const worst: Record<Level, number> = { all: 7, warning: 4, error: 3 };

export const levelOf = (entry: Entry): Level =>
  severity(entry) <= 3 ? 'error' : severity(entry) === 4 ? 'warning' : 'all';

/** Returns the entries with all words and at least this severity, newest first. */
export function filtered(all: readonly Entry[], words: string, level: Level): Entry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter((entry) => severity(entry) <= worst[level])
    .filter((entry) => wanted.every((word) => entry.msg.toLowerCase().includes(word)))
    .toReversed();
}
