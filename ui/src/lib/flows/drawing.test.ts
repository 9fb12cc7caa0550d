// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { nextFrame, type Slot } from './drawing';

/** Returns one slot per letter from index `first`; a dot is an unknown row. */
function slots(letters: string, first = 0): Slot<{ key: string }>[] {
  return [...letters].map((key, i) => ({
    index: first + i,
    row: key === '.' ? undefined : { key },
  }));
}
const letters = (all: readonly Slot<{ key: string }>[]) =>
  all.map(({ row }) => row?.key ?? '.').join('');

/** Returns the frames from `before` to `after` with two new rows each. */
function pictures(before: Slot<{ key: string }>[], after: Slot<{ key: string }>[]): string[] {
  const seen = [];
  let drawn: readonly Slot<{ key: string }>[] = before;
  for (let done = false; !done && seen.length < 20;) {
    ({ slots: drawn, done } = nextFrame(after, drawn, 2));
    seen.push(letters(drawn));
  }
  return seen;
}

describe('the table is drawn in portions', () => {
  it('from the top if it was empty', () => {
    expect(pictures([], slots('abcde'))).toEqual(['ab...', 'abcd.', 'abcde']);
  });

  it('at once if rows only change places', () => {
    expect(pictures(slots('abcde'), slots('edcba'))).toEqual(['edcba']);
  });

  it('with old rows in place until they are replaced', () => {
    expect(pictures(slots('abcd'), slots('wxyz'))).toEqual(['wxcd', 'wxyz']);
  });

  it('without a row in two places', () => {
    // c moves up; its old slot stays empty until z is drawn.
    expect(pictures(slots('abc'), slots('cxyz'))).toEqual(['cxy.', 'cxyz']);
    expect(pictures(slots('abc'), slots('xyc'))).toEqual(['xyc']);
    expect(pictures(slots('abcd'), slots('wxdz'))).toEqual(['wxd.', 'wxdz']);
  });

  it('at once after a short scroll, and without old rows after a jump', () => {
    expect(pictures(slots('abcd'), slots('cdef', 2))).toEqual(['cdef']);
    expect(pictures(slots('abcd'), slots('wxyz', 90))).toEqual(['wx..', 'wxyz']);
  });

  it('without waiting for unknown rows', () => {
    expect(pictures([], slots('a...'))).toEqual(['a...']);
  });
});
