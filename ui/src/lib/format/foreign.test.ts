// SPDX-License-Identifier: GPL-2.0-or-later
import { render } from 'svelte/server';
import { describe, expect, it } from 'vitest';
import { cut, piecesOf, spelled, spelledLines } from './foreign';
import Foreign from './Foreign.svelte';

const html = (text: string, limit = 300) =>
  render(Foreign, { props: { text, limit, whole: true } }).body;
const seen = (text: string, limit?: number) =>
  html(text, limit)
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');

describe('foreign text', () => {
  it('is shown verbatim and never interpreted', () => {
    const bait = '<img src=x onerror=alert(1)> &amp; {evil} <b>';
    expect(html(bait)).not.toContain('<img');
    expect(html(bait)).not.toContain('<b>');
    expect(seen(bait)).toContain(bait);
  });

  it('escapes characters that reverse text or are invisible', () => {
    const turned = 'invoice\u202Egpj.exe';
    expect(html(turned)).not.toContain('\u202E');
    expect(seen(turned)).toContain('invoiceU+202Egpj.exe');
    expect(spelled('a\u0000b\u200Bc\u2066d\u00ADe')).toBe('a[U+0000]b[U+200B]c[U+2066]d[U+00AD]e');
    expect(spelled('line\nbreak\u2028')).toBe('line[U+000A]break[U+2028]');
    expect(spelled('\u{E0041}tag \uD800half')).toBe('[U+E0041]tag [U+D800]half');
  });

  it('limits stacked accents, which would cover other lines', () => {
    const tower = `a${'\u0301'.repeat(40)}`;
    expect(piecesOf(tower).filter((piece) => piece.spelled)).toHaveLength(36);
  });

  it('does not change ordinary text of any script', () => {
    for (const text of ['Grüße', 'מצלמה', 'カメラ', 'کاميرا', 'cam 📷', 'e\u0301']) {
      expect(spelled(text)).toBe(text);
    }
    expect(piecesOf('')).toEqual([]);
  });

  it('keeps the lines of multi-line text', () => {
    expect(spelledLines('one\ntwo\u202E')).toBe('one\ntwo[U+202E]');
  });

  it('is truncated if it is long, with a button for the rest', () => {
    const long = 'A'.repeat(2048);
    expect(seen(long)).toContain(`${'A'.repeat(300)}…`);
    expect(seen(long)).not.toContain('A'.repeat(301));
    expect(seen(long)).toContain('Show all 2,048 characters');
    expect(seen('short')).not.toContain('Show all');
  });

  it('is never truncated within a character', () => {
    expect(cut('📷📷📷', 2)).toBe('📷📷');
    expect(cut('abc', 3)).toBe('abc');
  });
});
