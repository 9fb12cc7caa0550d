// SPDX-License-Identifier: GPL-2.0-or-later
/** Texts with commands and file names between backticks, such as the doctor's remedies. */

export interface Piece {
  text: string;
  /** A command, a file or an option, to be typed verbatim. */
  code: boolean;
}

/** Splits a text into code and other text; an unmatched backtick stays. */
export function marked(text: string): Piece[] {
  return text
    .split(/(`[^`]+`)/)
    .filter((part) => part !== '')
    .map((part) =>
      /^`[^`]+`$/.test(part)
        ? { text: part.slice(1, -1), code: true }
        : { text: part, code: false },
    );
}
