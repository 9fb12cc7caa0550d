// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { age, duration, moment } from './time';
import { axisRate, bytes, count, percent, rate, setNumberLocale, text } from './units';

beforeEach(() => setNumberLocale('en'));

describe('rate', () => {
  it.each([
    [0, '0 bit/s'],
    [999, '999 bit/s'],
    [999.4, '999 bit/s'],
    [999.6, '1.00 kbit/s'],
    [1234, '1.23 kbit/s'],
    [9_996, '10.0 kbit/s'],
    [99_960, '100 kbit/s'],
    [999_499, '999 kbit/s'],
    [999_500, '1.00 Mbit/s'],
    [941_000_000, '941 Mbit/s'],
    [2_500_000_000, '2.50 Gbit/s'],
    [1e15, '1,000 Tbit/s'],
    [-5, '0 bit/s'],
    [Number.NaN, '0 bit/s'],
  ])('shows %d as %s', (bps, shown) => {
    expect(text(rate(bps))).toBe(shown);
  });
});

it('leaves out an axis’s zeros', () => {
  expect(text(axisRate(25_000_000))).toBe('25 Mbit/s');
  expect(text(axisRate(2_500_000))).toBe('2.5 Mbit/s');
  expect(text(axisRate(1e15))).toBe('1,000 Tbit/s');
  expect(text(rate(2_500_000))).toBe('2.50 Mbit/s');
});

it('counts bytes in decimal units', () => {
  expect(text(bytes(1024))).toBe('1.02 kB');
  expect(text(bytes(300_000_000))).toBe('300 MB');
});

it('groups digits as the language does', () => {
  expect(count(1_234_567)).toBe('1,234,567');
  setNumberLocale('de');
  expect(count(1_234_567)).toBe('1.234.567');
  expect(text(rate(1234))).toBe('1,23 kbit/s');
});

describe('percent', () => {
  it.each([
    [0, '0.0'],
    [0.9567, '95.6'],
    [0.9996, '99.9'],
    [1, '100'],
    [1.2, '100'],
  ])('shows %d as %s', (share, shown) => {
    expect(percent(share)).toBe(shown);
  });
});

describe('spans', () => {
  it.each([
    [0, '0 s', '0:00'],
    [59.9, '59 s', '0:59'],
    [60, '1 min', '1:00'],
    [3599, '59 min', '59:59'],
    [3600, '1 h 00 min', '1 h'],
    [90_061, '1 d 1 h', '1 d'],
    [-3, '0 s', '0:00'],
  ])('shows %d seconds as %s and %s', (seconds, long, short) => {
    expect(duration(seconds)).toBe(long);
    expect(age(seconds)).toBe(short);
  });
});

it('names the day of a moment only when it is not today', () => {
  const noon = new Date(2026, 10, 21, 12, 0, 5).getTime();
  expect(moment(noon, noon + 3_600_000)).toBe('12:00:05');
  expect(moment(noon, noon + 86_400_000)).toBe('2026-11-21 12:00:05');
});
