// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { areas, nearest, rowMarks, timeMarks, topOf, xOf, yOf, type Frame } from './plot';

const frame: Frame = { width: 300, height: 200, from: 1000, to: 1300, top: 2e6 };

it('puts times from left to right and values from the bottom up', () => {
  expect(xOf(frame, 1000)).toBe(0);
  expect(xOf(frame, 1300)).toBe(300);
  expect(yOf(frame, 0)).toBe(200);
  expect(yOf(frame, 2e6)).toBe(0);
});

describe('areas', () => {
  it('close each row down to the one below it', () => {
    const drawn = areas(
      [
        [1000, 1300],
        [1e6, 1e6],
        [2e6, 1e6],
      ],
      frame,
    );
    expect(drawn[0]).toBe('M0.0 100.0L300.0 100.0L300.0 200.0L0.0 200.0Z');
    expect(drawn[1]).toBe('M0.0 0.0L300.0 100.0L300.0 100.0L0.0 100.0Z');
  });

  it('begin one sample before the span, and draw nothing of nothing', () => {
    const drawn = areas(
      [
        [800, 900, 1100],
        [1, 1, 1],
      ],
      frame,
    );
    expect(drawn[0]).toContain('M-100.0 ');
    expect(drawn[0]).not.toContain('-200.0');
    expect(areas([[], []], frame)).toEqual(['']);
  });

  it('have no line where they have no height', () => {
    const drawn = areas(
      [
        [1000, 1100, 1200, 1300],
        [1e6, 1e6, 1e6, 1e6],
        [1e6, 1e6, 1e6, 1e6],
        [1e6, 1e6, 1e6, 2e6],
        [1e6, 1e6, 1e6, 2e6],
      ],
      frame,
    );
    expect(drawn[0]).not.toBe('');
    // A path that carried nothing; one that begins in the last sample, with the slope to it; and
    // one that lies upon that and carried nothing either.
    expect(drawn.slice(1)).toEqual(['', 'M200.0 100.0L300.0 0.0L300.0 100.0L200.0 100.0Z', '']);
  });

  it('are one for each time that something was carried', () => {
    const drawn = areas(
      [
        [1000, 1060, 1120, 1180, 1240, 1300],
        [2e6, 0, 0, 0, 2e6, 2e6],
      ],
      frame,
    );
    expect(drawn[0]).toBe(
      'M0.0 0.0L60.0 200.0L60.0 200.0L0.0 200.0Z' +
        'M180.0 200.0L240.0 0.0L300.0 0.0L300.0 200.0L240.0 200.0L180.0 200.0Z',
    );
    expect(areas([[1300], [1e6]], frame)).toEqual(['M300.0 100.0L300.0 200.0Z']);
    expect(areas([[1300], [0]], frame)).toEqual(['']);
  });
});

describe('marks', () => {
  it('are round, from zero to below the top, with room between them', () => {
    expect(rowMarks(frame)).toEqual([0, 5e5, 1e6, 1.5e6, 2e6]);
    expect(rowMarks({ ...frame, top: 9.4e8 })).toEqual([0, 2e8, 4e8, 6e8, 8e8]);
    for (const top of [1e6, 1.08e6, 3.3e6, 7e9, 4.2e10]) {
      const marks = rowMarks({ ...frame, top });
      expect(marks.length).toBeGreaterThanOrEqual(2);
      expect(marks.length).toBeLessThanOrEqual(6);
    }
  });

  it('are whole minutes, fewer where it is narrow', () => {
    expect(timeMarks({ ...frame, width: 900 })).toEqual([1020, 1080, 1140, 1200, 1260]);
    expect(timeMarks({ ...frame, width: 170 })).toEqual([1080, 1260]);
  });
});

it('shows at least a megabit, and room above the highest', () => {
  expect(topOf([[1], [5]])).toBe(1e6);
  expect(topOf([[1], [5], [1e8]])).toBe(1.08e8);
  expect(topOf([[]])).toBe(1e6);
});

it('finds the time nearest to the pointer', () => {
  expect(nearest([1000, 1100, 1300], frame, 90)).toBe(1);
  expect(nearest([1000, 1100, 1300], frame, 260)).toBe(2);
  expect(nearest([], frame, 90)).toBeNull();
});
