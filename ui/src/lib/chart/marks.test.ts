// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import { setLocale } from '../format/locale';
import { timeMarks } from './marks';

const at = (day: number, hour: number, minute = 0, second = 0) =>
  new Date(2026, 10, day, hour, minute, second).getTime() / 1000;

it('omits the day if all marks are from today', () => {
  const marks = [at(21, 12, 1), at(21, 12, 2)];
  expect(timeMarks(marks, 60, at(21, 12, 3))).toEqual(['12:01', '12:02']);
});

it('shows the day at its first mark', () => {
  setLocale('en-GB');
  const marks = [at(20, 18), at(21, 0), at(21, 6), at(21, 12)];
  const shown = ['18:00\n20 Nov', '00:00\n21 Nov', '06:00', '12:00'];
  expect(timeMarks(marks, 21_600, at(21, 13))).toEqual(shown);
  setLocale('de');
  expect(timeMarks(marks, 21_600, at(21, 13))[1]).toBe('00:00\n21. Nov.');
});

it('shows the day if all marks are from another day', () => {
  setLocale('en-GB');
  expect(timeMarks([at(20, 18), at(20, 20)], 7200, at(21, 2))).toEqual(['18:00\n20 Nov', '20:00']);
});

it('shows seconds if the marks are closer than a minute', () => {
  expect(timeMarks([at(21, 12, 1, 0), at(21, 12, 1, 30)], 30, at(21, 13))).toEqual([
    '12:01:00',
    '12:01:30',
  ]);
});
