// SPDX-License-Identifier: GPL-2.0-or-later
/** Spans, ages, times of day and dates as text. */

const twoDigits = (value: number) => String(value).padStart(2, '0');

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A span in at most two units: "45 s", "12 min", "3 h 05 min", "4 d 2 h". */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < MINUTE) return `${s} s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)} min`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h ${twoDigits(Math.floor((s % HOUR) / MINUTE))} min`;
  return `${Math.floor(s / DAY)} d ${Math.floor((s % DAY) / HOUR)} h`;
}

/** The same in a table's cell: "0:45", "12:03", "3 h", "4 d". */
export function age(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < HOUR) return `${Math.floor(s / MINUTE)}:${twoDigits(s % MINUTE)}`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h`;
  return `${Math.floor(s / DAY)} d`;
}

/** Swedish writes dates and times of day as ISO 8601 does: "2026-11-21", "14:05:09". */
const days = new Intl.DateTimeFormat('sv', { dateStyle: 'short' });
const times = new Intl.DateTimeFormat('sv', { timeStyle: 'medium' });

/** Time of day of a Unix time in milliseconds, "14:05:09". */
export function clock(ms: number): string {
  return times.format(ms);
}

/** A moment for people: the time of day, with the date unless it is today's. */
export function moment(ms: number, now_ms: number = Date.now()): string {
  const day = days.format(ms);
  return day === days.format(now_ms) ? clock(ms) : `${day} ${clock(ms)}`;
}
