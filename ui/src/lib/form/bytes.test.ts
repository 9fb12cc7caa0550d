// SPDX-License-Identifier: GPL-2.0-or-later
import { describe, expect, it } from 'vitest';
import { parseBytes, writeBytes } from './bytes';

describe('bytes', () => {
  it.each([
    ['1 MiB', 1_048_576],
    ['1M', 1_000_000],
    ['512 kB', 512_000],
    ['0', 0],
    ['1.5 MiB', 1_572_864],
    ['3', 3],
    ['-1', null],
    ['4 GiB', null],
    ['much', null],
    ['1.5', null],
  ])('reads %s', (text, bytes) => expect(parseBytes(text)).toBe(bytes));

  it('formats text that can be parsed', () => {
    expect(writeBytes('1048576')).toBe('1 MiB');
    expect(writeBytes('1000000')).toBe('1000000');
    expect(writeBytes('0')).toBe('0');
    expect(writeBytes('much')).toBe('much');
    for (const text of ['1 GiB', '7 KiB', '3 MiB']) {
      expect(writeBytes(String(parseBytes(text)))).toBe(text);
    }
  });
});
