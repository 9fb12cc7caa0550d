// SPDX-License-Identifier: GPL-2.0-or-later
/** Severities of syslog as levels, and the filter of the log. */

/** A record of logd. */
export interface Entry {
  id: number;
  /** Unix ms. */
  time: number;
  /** syslog's facility and severity in one number. */
  priority: number;
  msg: string;
}

/** Severities of syslog that are asked for as one. */
export const levels = ['all', 'warning', 'error'] as const;
export type Level = (typeof levels)[number];

const severity = (entry: Entry) => entry.priority & 7;
const worst: Record<Level, number> = { all: 7, warning: 4, error: 3 };

export const levelOf = (entry: Entry): Level =>
  severity(entry) <= 3 ? 'error' : severity(entry) === 4 ? 'warning' : 'all';

/** Entries with all the terms and at least the severity, the newest first. */
export function filtered(all: readonly Entry[], words: string, level: Level): Entry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter((entry) => severity(entry) <= worst[level])
    .filter((entry) => wanted.every((word) => entry.msg.toLowerCase().includes(word)))
    .toReversed();
}
