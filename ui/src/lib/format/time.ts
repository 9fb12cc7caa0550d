// SPDX-License-Identifier: GPL-2.0-or-later
/** Spans, ages, times of day and dates as text. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A span in at most two units: "45 s", "12 min", "3 h 05 min", "4 d 2 h". */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < MINUTE) return `${s} s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)} min`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h ${pad(Math.floor((s % HOUR) / MINUTE))} min`;
  return `${Math.floor(s / DAY)} d ${Math.floor((s % DAY) / HOUR)} h`;
}

/** The same in a table's cell: "0:45", "12:03", "3 h", "4 d". */
export function age(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < HOUR) return `${Math.floor(s / MINUTE)}:${pad(s % MINUTE)}`;
  if (s < DAY) return `${Math.floor(s / HOUR)} h`;
  return `${Math.floor(s / DAY)} d`;
}

/** Time of day of a Unix time in milliseconds, "14:05:09". */
export function clock(ms: number): string {
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map(pad).join(':');
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

/** A moment for people: the time of day, with the date unless it is today's. */
export function moment(ms: number, now_ms: number = Date.now()): string {
  const at = new Date(ms);
  const today = at.toDateString() === new Date(now_ms).toDateString();
  if (today) return clock(ms);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clock(ms)}`;
}
