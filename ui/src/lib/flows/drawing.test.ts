// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { towards, type Slot } from './drawing';

/** A slot for each letter from `first` on; a dot is a row that is not known. */
function slots(letters: string, first = 0): Slot<{ key: string }>[] {
  return [...letters].map((key, i) => ({
    index: first + i,
    row: key === '.' ? undefined : { key },
  }));
}
const letters = (all: readonly Slot<{ key: string }>[]) =>
  all.map(({ row }) => row?.key ?? '.').join('');

/** The pictures from `before` to `after`, the portion two rows. */
function pictures(before: Slot<{ key: string }>[], after: Slot<{ key: string }>[]): string[] {
  const seen = [];
  let drawn: readonly Slot<{ key: string }>[] = before;
  for (let done = false; !done && seen.length < 20;) {
    ({ slots: drawn, done } = towards(after, drawn, 2));
    seen.push(letters(drawn));
  }
  return seen;
}

describe('a table is drawn in portions', () => {
  it('from the top where there was nothing', () => {
    expect(pictures([], slots('abcde'))).toEqual(['ab...', 'abcd.', 'abcde']);
  });

  it('at once where rows only change places', () => {
    expect(pictures(slots('abcde'), slots('edcba'))).toEqual(['edcba']);
  });

  it('and old rows stay until they are replaced', () => {
    expect(pictures(slots('abcd'), slots('wxyz'))).toEqual(['wxcd', 'wxyz']);
  });

  it('no row in two places', () => {
    // c moves up; until z comes, its old place is empty.
    expect(pictures(slots('abc'), slots('cxyz'))).toEqual(['cxy.', 'cxyz']);
    expect(pictures(slots('abc'), slots('xyc'))).toEqual(['xyc']);
    expect(pictures(slots('abcd'), slots('wxdz'))).toEqual(['wxd.', 'wxdz']);
  });

  it('scrolling a little brings new rows at once, a jump leaves no old row', () => {
    expect(pictures(slots('abcd'), slots('cdef', 2))).toEqual(['cdef']);
    expect(pictures(slots('abcd'), slots('wxyz', 90))).toEqual(['wx..', 'wxyz']);
  });

  it('rows that are not known yet wait for nothing', () => {
    expect(pictures([], slots('a...'))).toEqual(['a...']);
  });
});
