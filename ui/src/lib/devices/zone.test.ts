// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { lastAt, midnight, nextAt, offsetAt, zoneOf } from './zone';

const BERLIN = 'CET-1CEST,M3.5.0,M10.5.0/3';
const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString().slice(0, 16);
const system = (values: Record<string, string>) =>
  zoneOf({ section: 'system', type: 'system', anonymous: false, values });

it('the last and the next hour are of the zone, also when clocks change', () => {
  for (const [now, zone, last, next] of [
    ['2026-11-30T06:59Z', 'UTC', '2026-11-29T07:00', '2026-11-30T07:00'],
    ['2026-11-30T07:00Z', 'UTC', '2026-11-30T07:00', '2026-12-01T07:00'],
    ['2026-11-30T06:30Z', 'Europe/Berlin', '2026-11-30T06:00', '2026-12-01T06:00'],
    ['2026-11-30T23:30Z', 'Asia/Kolkata', '2026-11-30T01:30', '2026-12-01T01:30'],
    // Clocks go forward at 01:00 UTC on 29 March, and back on 25 October.
    ['2026-03-28T20:00Z', 'Europe/Berlin', '2026-03-28T06:00', '2026-03-29T05:00'],
    ['2026-10-24T20:00Z', 'Europe/Berlin', '2026-10-24T05:00', '2026-10-25T06:00'],
    ['2026-03-29T12:00Z', 'America/New_York', '2026-03-29T11:00', '2026-03-30T11:00'],
  ] as const) {
    expect(
      [iso(lastAt(7, at(now), zone)), iso(nextAt(7, at(now), zone))],
      `${now} ${zone}`,
    ).toEqual([last, next]);
  }
  expect(offsetAt(at('2026-11-30T00:00:30.250Z'), 'Australia/Sydney')).toBe(11 * 3_600_000);
});

it('days before begin at midnight, also when clocks change', () => {
  const now = at('2026-11-02T11:00Z');
  expect([0, 6, 7, 8, 9, 29].map((days) => iso(midnight(now, 'Europe/Berlin', days)))).toEqual([
    ...['2026-11-01T23:00', '2026-10-26T23:00', '2026-10-25T23:00', '2026-10-24T22:00'],
    ...['2026-10-23T22:00', '2026-10-03T22:00'],
  ]);
  const spring = at('2026-04-02T11:00Z');
  expect([0, 3, 4, 5].map((days) => iso(midnight(spring, 'Europe/Berlin', days)))).toEqual([
    ...['2026-04-01T22:00', '2026-03-29T22:00', '2026-03-28T23:00', '2026-03-27T23:00'],
  ]);
});

it('the name of a zone counts if it agrees with the zone that the daemon uses', () => {
  expect(system({ zonename: 'Europe/Berlin', timezone: BERLIN })).toBe('Europe/Berlin');
  expect(system({ zonename: 'America/New York', timezone: 'EST5EDT,M3.2.0,M11.1.0' })).toBe(
    'America/New_York',
  );
  expect(system({ zonename: 'Australia/Sydney', timezone: 'AEST-10AEDT,M10.1.0,M4.1.0/3' })).toBe(
    'Australia/Sydney',
  );
  expect(system({ timezone: BERLIN }), 'OpenWrt leaves the name at UTC').toBeUndefined();
  expect(system({ zonename: 'Europe/Berlin', timezone: 'EST5' })).toBe('Etc/GMT+5');
  expect(system({ zonename: 'No/Where', timezone: 'JST-9' })).toBe('Etc/GMT-9');
  expect(system({ zonename: 'Asia/Kolkata', timezone: 'IST-5:30' })).toBe('Asia/Kolkata');
  expect(system({ timezone: 'IST-5:30' })).toBeUndefined();
  for (const timezone of ['UTC', 'GMT0', 'UTC0']) expect(system({ timezone })).toBe('UTC');
  expect(zoneOf(undefined)).toBe('UTC');
  expect(system({ timezone: 'nonsense' })).toBeUndefined();
});
