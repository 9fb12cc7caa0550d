// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { outline, spans, topOf } from './area';

describe('an area', () => {
  it('is empty where the row is no higher than the row below', () => {
    expect(spans([1, 1, 1], [1, 1, 1], 0, 2)).toEqual([]);
    expect(spans([0, 0], null, 0, 1)).toEqual([]);
    expect(spans([], null, 0, -1)).toEqual([]);
  });

  it('includes the adjacent samples, where its edge rises and falls', () => {
    expect(spans([1, 1, 1, 2], [1, 1, 1, 1], 0, 3)).toEqual([[2, 3]]);
    expect(spans([2, 0, 0, 0, 2, 2], null, 0, 5)).toEqual([
      [0, 1],
      [3, 5],
    ]);
    expect(spans([2, 0, 2], null, 0, 2)).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  it('ends where nothing was recorded', () => {
    expect(spans([2, 2, 2, 2], null, 0, 3, (i) => i === 1)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it('is limited to the samples in view', () => {
    expect(spans([2, 2, 2, 2], null, 1, 2)).toEqual([[1, 2]]);
    expect(spans([2, 0, 0], null, 1, 2)).toEqual([]);
  });

  it('is outlined along its row and back along the row below', () => {
    const drawn: string[] = [];
    const pen = {
      moveTo: (x: number, y: number) => drawn.push(`M${x} ${y}`),
      lineTo: (x: number, y: number) => drawn.push(`L${x} ${y}`),
      closePath: () => drawn.push('Z'),
    };
    const place = { x: (at: number) => at * 10, y: (value: number) => 100 - value };
    const rows = { times: [0, 1, 2], row: [9, 5, 7], below: [9, 2, 3] };
    outline(pen, { ...rows, ...place }, [1, 2]);
    expect(drawn).toEqual(['M10 95', 'L20 93', 'L20 97', 'L10 98', 'Z']);
    drawn.length = 0;
    outline(pen, { ...rows, below: null, ...place }, [0, 0]);
    expect(drawn).toEqual(['M0 91', 'L0 100', 'Z']);
  });
});

it('scales the axis to at least a megabit, with space above the peak', () => {
  expect(topOf(null)).toBe(1e6);
  expect(topOf(5)).toBe(1e6);
  expect(topOf(1e8)).toBe(1.08e8);
});
