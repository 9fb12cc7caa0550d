// SPDX-License-Identifier: GPL-2.0-or-later
import { beforeEach, describe, expect, it } from 'vitest';
import { regional, setLocale } from './locale';
import { age, clock, dayOf, duration, minute, moment } from './time';
import { axisRate, bytes, count, percent, percentParts, rate, text } from './units';

beforeEach(() => setLocale('en'));

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

it('omits trailing zeros on an axis', () => {
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
  setLocale('de');
  expect(count(1_234_567)).toBe('1.234.567');
  expect(text(rate(1234))).toBe('1,23 kbit/s');
});

describe('percent', () => {
  it.each([
    [0, '0.0%'],
    [0.9567, '95.6%'],
    [0.915, '91.5%'],
    [0.9996, '99.9%'],
    [0.99999, '99.9%'],
    [1, '100%'],
    [1.2, '100%'],
    [-1, '0.0%'],
  ])('shows %d as %s', (share, shown) => {
    expect(percent(share)).toBe(shown);
  });

  it('has the separators of the language and a separate sign', () => {
    expect(percentParts(0.915)).toEqual([
      { text: '91.5', sign: false },
      { text: '%', sign: true },
    ]);
    setLocale('de');
    expect(percent(0.915)).toBe('91,5\u00a0%');
    expect(percentParts(1)).toEqual([
      { text: '100', sign: false },
      { text: '\u00a0%', sign: true },
    ]);
    setLocale('tr');
    expect(percentParts(0.915)[0]).toEqual({ text: '%', sign: true });
  });
});

describe('spans', () => {
  it.each([
    [0, '0 sec', '0:00'],
    [59.9, '59 sec', '0:59'],
    [60, '1 min', '1:00'],
    [3599, '59 min', '59:59'],
    [3600, '1 hr', '1 hr'],
    [3900, '1 hr, 5 min', '1 hr'],
    [86_399, '23 hr, 59 min', '23 hr'],
    [90_061, '1 day, 1 hr', '1 day'],
    [172_800, '2 days', '2 days'],
    [-3, '0 sec', '0:00'],
  ])('shows %d seconds as %s and %s', (seconds, long, short) => {
    expect(duration(seconds)).toBe(long);
    expect(age(seconds)).toBe(short);
  });

  it('match Intl.DurationFormat where it exists', ({ skip }) => {
    type Format = new (
      locale: string,
      options: { style: 'short' },
    ) => { format: (of: Record<string, number>) => string };
    const { DurationFormat } = Intl as unknown as { DurationFormat?: Format };
    if (!DurationFormat) return skip('this Node has no Intl.DurationFormat');
    for (const locale of ['en', 'en-GB', 'de', 'fr', 'ja']) {
      setLocale(locale);
      const theirs = new DurationFormat(locale, { style: 'short' });
      expect(duration(11_100)).toBe(theirs.format({ hours: 3, minutes: 5 }));
      expect(duration(93_600)).toBe(theirs.format({ days: 1, hours: 2 }));
    }
  });

  it('are in the language of the page', () => {
    setLocale('de');
    expect(duration(11_100)).toBe('3 Std., 5 Min.');
    expect(age(11_100)).toBe('3 Std.');
  });
});

describe('moments', () => {
  const noon = new Date(2026, 10, 21, 12, 0, 5).getTime();
  const tomorrow = noon + 86_400_000;

  it('have date and time zone unless they are today', () => {
    expect(moment(noon, noon + 3_600_000)).toBe('12:00:05');
    expect(moment(noon, tomorrow)).toMatch(/^Nov 21, 2026, 12:00:05 \S+/);
  });

  it('have 24 hours and the order of the language', () => {
    const evening = new Date(2026, 10, 21, 0, 5, 9).getTime();
    for (const locale of ['en', 'en-GB', 'de']) {
      setLocale(locale);
      expect(clock(evening)).toBe('00:05:09');
      expect(minute(evening)).toBe('00:05');
    }
    expect(dayOf(evening)).toBe('21. Nov.');
    expect(moment(noon, tomorrow)).toMatch(/^21\. Nov\. 2026, 12:00:05 \S+/);
    setLocale('en-GB');
    expect(moment(noon, tomorrow)).toMatch(/^21 Nov 2026, 12:00:05 \S+/);
  });
});

it('uses the browser’s region for the language of the page', () => {
  expect(regional('de', ['fr', 'en-GB', 'de-CH', 'de'])).toBe('de-CH');
  expect(regional('en', ['EN-gb'])).toBe('EN-gb');
  expect(regional('de', ['en-GB'])).toBe('de');
});
