// SPDX-License-Identifier: GPL-2.0-or-later
/** Times have 24 hours in every language, because they are compared with logs. */

import { formatter } from './locale';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Unit = 'second' | 'minute' | 'hour' | 'day';

function amount(value: number, unit: Unit): string {
  const format = { style: 'unit', unit, unitDisplay: 'short' } as const;
  return formatter(unit, (locale) => new Intl.NumberFormat(locale, format)).format(value);
}

/**
 * Formats a duration in at most two units: "45 sec", "12 min", "3 hr, 5 min", "4 days, 2 hr".
 * Equals Intl.DurationFormat, which browsers lack before 2025.
 */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < MINUTE) return amount(s, 'second');
  if (s < HOUR) return amount(Math.floor(s / MINUTE), 'minute');
  const hours = Math.floor((s % DAY) / HOUR);
  if (s < DAY) return both(amount(hours, 'hour'), Math.floor((s % HOUR) / MINUTE), 'minute');
  return both(amount(Math.floor(s / DAY), 'day'), hours, 'hour');
}

function both(first: string, rest: number, unit: Unit): string {
  if (rest === 0) return first;
  const format = { type: 'unit', style: 'short' } as const;
  const list = formatter('units', (locale) => new Intl.ListFormat(locale, format));
  return list.format([first, amount(rest, unit)]);
}

/** Formats an age for a table: "0:45", "12:03", "3 hr", "4 days". */
export function age(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < HOUR) return `${Math.floor(s / MINUTE)}:${String(s % MINUTE).padStart(2, '0')}`;
  if (s < DAY) return amount(Math.floor(s / HOUR), 'hour');
  return amount(Math.floor(s / DAY), 'day');
}

const minutes = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const seconds = { ...minutes, second: '2-digit' } as const;
const day = { day: 'numeric', month: 'short' } as const;
const date = { ...day, year: 'numeric' } as const;

function written(name: string, format: Intl.DateTimeFormatOptions, ms: number): string {
  return formatter(name, (locale) => new Intl.DateTimeFormat(locale, format)).format(ms);
}

/** Formats a time of day: "14:05:09". */
export function clock(ms: number): string {
  return written('seconds', seconds, ms);
}

/** Formats the time of day without seconds: "14:05". */
export function minute(ms: number): string {
  return written('minutes', minutes, ms);
}

/** Formats day and month: "21 Nov". */
export function dayOf(ms: number): string {
  return written('day', day, ms);
}

export function sameDay(one_ms: number, other_ms: number): boolean {
  return written('date', date, one_ms) === written('date', date, other_ms);
}

/** Formats a period: "14:00 – 15:30", with dates unless it is of today. */
export function period(from_ms: number, to_ms: number, now_ms: number): string {
  const time = to_ms - from_ms < 10 * MINUTE * 1000 ? clock : minute;
  const today = sameDay(from_ms, now_ms) && sameDay(to_ms, now_ms);
  const [from, to] = [from_ms, to_ms].map((at) => (today ? time(at) : `${dayOf(at)}, ${time(at)}`));
  return `${from} – ${to}`;
}

/** Formats a time of day, with date and time zone unless it is today. */
export function moment(ms: number, now_ms: number = Date.now()): string {
  if (sameDay(ms, now_ms)) return clock(ms);
  return written('moment', { ...date, ...seconds, timeZoneName: 'short' }, ms);
}
