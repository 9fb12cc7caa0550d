// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { formatter } from '../format/locale';
import { list, text, type Section } from '../form/sections';

export const FILE = 'fastpath';
export const TYPE = 'schedule';

export const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** Monday, 5 January 1970, at noon in UTC. */
const MONDAY_MS = (4 * 24 + 12) * 3_600_000;

/** Returns the short name of a weekday: "Mon". */
export function dayName(day: string, style: 'short' | 'long' = 'short'): string {
  const at = (days as readonly string[]).indexOf(day);
  if (at < 0) return day;
  const format = { weekday: style, timeZone: 'UTC' } as const;
  const make = (locale?: string) => new Intl.DateTimeFormat(locale, format);
  return formatter(`weekday-${style}`, make).format(MONDAY_MS + at * 86_400_000);
}

/** Returns the days on which a schedule begins, in the order of the week; all if it names none. */
export function daysOf(section: Section): string[] {
  const named = list(section, 'day').map((day) => day.toLowerCase());
  return named.length === 0 ? [...days] : days.filter((day) => named.includes(day));
}

/** Names successive days as a span: "Mon–Fri, Sun". */
export function daysText(section: Section, daily: string): string {
  const on = daysOf(section);
  if (on.length === days.length) return daily;
  const runs: string[][] = [];
  for (const day of days) {
    if (!on.includes(day)) runs.push([]);
    else if (runs.length === 0) runs.push([day]);
    else runs.at(-1)?.push(day);
  }
  return runs
    .filter((run) => run.length > 0)
    .map((run) =>
      run.length > 2
        ? `${dayName(run[0] ?? '')}–${dayName(run.at(-1) ?? '')}`
        : run.map((day) => dayName(day)).join(', '),
    )
    .join(', ');
}

/** Switches a day. All days are written as none. */
export function toggled(section: Section, day: string, on: boolean): string[] {
  const now = days.filter((each) => (each === day ? on : daysOf(section).includes(each)));
  return now.length === days.length ? [] : now;
}

/** Reports whether the span ends on the day after it begins. */
export const endsNextDay = (section: Section): boolean =>
  text(section, 'to') <= text(section, 'from');

/** Returns the entries of a list in lower case, without repeats. */
export const macsOf = (section: Section): string[] => [
  ...new Set(list(section, 'device').map((mac) => mac.toLowerCase())),
];

/** Returns the groups of a schedule. A group in an option of one value may contain spaces. */
export const groupsIn = (section: Section): string[] => namesIn(section, 'group');

function namesIn(section: Section, option: string): string[] {
  const value = section.values[option] ?? [];
  return typeof value === 'string' ? [value] : value;
}

/** Returns the names of the SSIDs that a schedule switches off. */
export const ssidsIn = (section: Section): string[] => namesIn(section, 'ssid');

export const add = (draft: Pick<Draft, 'add'>, name: string): string =>
  draft.add(FILE, TYPE, { name, day: [], from: '21:00', to: '07:00' });

export function addTarget(draft: Pick<Draft, 'set'>, section: Section, key: string): void {
  const [option, value] = [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)];
  const now = option === 'device' ? macsOf(section) : namesIn(section, option);
  if (!now.includes(value)) draft.set(FILE, section.section, { [option]: [...now, value] });
}

export function removeTarget(
  draft: Pick<Draft, 'set'>,
  section: Section,
  option: 'device' | 'group' | 'ssid',
  value: string,
): void {
  const now = option === 'device' ? macsOf(section) : namesIn(section, option);
  draft.set(FILE, section.section, { [option]: now.filter((each) => each !== value) });
}
