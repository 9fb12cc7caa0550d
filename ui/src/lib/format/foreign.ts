// SPDX-License-Identifier: GPL-2.0-or-later

export interface Piece {
  text: string;
  spelled: boolean;
}

/**
 * Characters that are invisible or change the text around them: control and format characters,
 * marks of writing direction, line separators, lone surrogates, and accents beyond the fourth in a
 * row, which would cover the lines above.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]|(?<=\p{M}{4})\p{M}/gu;

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(UNSAFE)) {
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), spelled: false });
    pieces.push({ text: codeOf(found[0]), spelled: true });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), spelled: false });
  return pieces;
}

/** Escapes text for attributes and other places that take a string. */
export function spelled(text: string): string {
  return text.replaceAll(UNSAFE, (character) => `[${codeOf(character)}]`);
}

/** Escapes text and keeps its line breaks. */
export function spelledLines(text: string): string {
  return text.split('\n').map(spelled).join('\n');
}

/** Returns the first `limit` characters, without splitting one. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const characters = Array.from(text.slice(0, limit * 2));
  return characters.slice(0, limit).join('');
}
