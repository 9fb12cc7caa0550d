// SPDX-License-Identifier: GPL-2.0-or-later
/** Which characters of foreign text are shown as numbers (control, direction, format), and where
 * text is cut. */

/** A piece of foreign text, or the number of a character that must not take effect. */
export interface Piece {
  text: string;
  spelled: boolean;
}

/**
 * Characters that are invisible or steer the text around them: control characters, marks of the
 * writing direction and other format characters, separators of lines, lone surrogates, and
 * accents beyond the fourth in a row, which would paint over the lines above.
 */
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]|(?<=\p{M}{4})\p{M}/gu;

function codeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Foreign text in pieces: characters that may be shown as they are, and those to be escaped. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(STEERING)) {
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), spelled: false });
    pieces.push({ text: codeOf(found[0]), spelled: true });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), spelled: false });
  return pieces;
}

/** The same for places that take a string, such as names of buttons. */
export function spelled(text: string): string {
  return text.replaceAll(STEERING, (character) => `[${codeOf(character)}]`);
}

/** The same for text of several lines, which stay lines. */
export function spelledLines(text: string): string {
  return text.split('\n').map(spelled).join('\n');
}

/** The first `limit` characters, never half of one; the whole text when it is not longer. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const characters = Array.from(text.slice(0, limit * 2));
  return characters.slice(0, limit).join('');
}
