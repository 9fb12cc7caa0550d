// SPDX-License-Identifier: GPL-2.0-or-later

import { clock, dayOf, minute, sameDay } from '../format/time';

/**
 * Returns the labels of the time axis. The first mark of each day has the date on a second line,
 * unless all marks are from the day of `now`.
 *
 * @param marks Unix seconds, ascending
 * @param step seconds between two marks
 */
export function timeMarks(marks: readonly number[], step: number, now: number): string[] {
  const today = marks.every((at) => sameDay(at * 1000, now * 1000));
  return marks.map((at, i) => {
    const time = step < 60 ? clock(at * 1000) : minute(at * 1000);
    const before = marks[i - 1];
    const begins = before === undefined || !sameDay(before * 1000, at * 1000);
    return begins && !today ? `${time}\n${dayOf(at * 1000)}` : time;
  });
}
