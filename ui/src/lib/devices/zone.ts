// SPDX-License-Identifier: GPL-2.0-or-later
/** The router's time zone, for times of its schedules and pauses. */

import { text, type Section } from '../form/sections';

/** Returns how far local time is ahead of UTC, in ms. */
export function offsetAt(ms: number, zone: string | undefined): number {
  const numbers = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const times = {
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
  } as const;
  const format = new Intl.DateTimeFormat('en', { ...numbers, ...times, timeZone: zone });
  const parts = Object.fromEntries(
    format.formatToParts(ms).map(({ type, value }) => [type, +value]),
  );
  const { year = 0, month = 1, day, hour, minute, second } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
}

/** Returns the last time, Unix ms, at which it was `hour` o'clock. */
export function lastAt(hour: number, now_ms: number, zone: string | undefined): number {
  const DAY_MS = 86_400_000;
  const local = now_ms + offsetAt(now_ms, zone);
  let wall = Math.floor(local / DAY_MS) * DAY_MS + hour * 3_600_000;
  if (wall > local) wall -= DAY_MS;
  return utcOf(wall, zone);
}

/** Returns midnight of today, or of some days before, Unix ms. */
export function midnight(now_ms: number, zone: string | undefined, days = 0): number {
  const today = lastAt(0, now_ms, zone);
  // Noon, because days have 23 to 25 hours.
  return days === 0 ? today : lastAt(0, today - (days - 0.5) * 86_400_000, zone);
}

/** Returns the next time, Unix ms, at which it will be `hour` o'clock. */
export function nextAt(hour: number, now_ms: number, zone: string | undefined): number {
  const last = lastAt(hour, now_ms, zone);
  return utcOf(last + offsetAt(last, zone) + 86_400_000, zone);
}

/** Returns the time at which clocks show `wall`; the offset may change close to it. */
function utcOf(wall: number, zone: string | undefined): number {
  const near = wall - offsetAt(wall, zone);
  return wall - offsetAt(near, zone);
}

/** UTC offsets of a POSIX time zone, in ms; `undefined` if it cannot be parsed. */
function posix(zone: string) {
  const parsed = /^(?:[A-Za-z]{3,}|<[\w+-]+>)([+-]?)(\d{1,2})(?::(\d\d))?(\D.*)?$/.exec(zone);
  if (!parsed) return undefined;
  const [, sign, hours, minutes = '0', summer] = parsed;
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return { standard: sign === '-' ? ms : -ms, summer: summer !== undefined };
}

/**
 * Returns the IANA zone of section `system`. The daemon uses `timezone`, so `zonename` counts only
 * if both agree. Returns `undefined` if the page cannot know the zone.
 */
export function zoneOf(system: Section | undefined): string | undefined {
  const wanted = posix(text(system, 'timezone', 'UTC0').replace(/^(UTC|GMT)$/, '$&0'));
  if (!wanted) return undefined;
  const named = text(system, 'zonename', 'UTC').replaceAll(' ', '_');
  const year = new Date().getUTCFullYear();
  try {
    const [winter, summer] = [0, 6].map((month) => offsetAt(Date.UTC(year, month, 1), named));
    const [low, high] = [Math.min(winter ?? 0, summer ?? 0), Math.max(winter ?? 0, summer ?? 0)];
    if (low === wanted.standard && high > low === wanted.summer) return named;
  } catch {
    // The browser does not know the name.
  }
  const hours = wanted.standard / 3_600_000;
  if (wanted.summer || !Number.isInteger(hours)) return undefined;
  // The sign of these names is POSIX's.
  return hours === 0 ? 'UTC' : `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`;
}
