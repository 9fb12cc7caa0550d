// SPDX-License-Identifier: GPL-2.0-or-later
/** Texts with commands and file names between backticks, such as the remedies of the doctor. */

export interface Piece {
  text: string;
  /** It is a command, a file or an option: to be typed as it is. */
  code: boolean;
}

/** The pieces of a text, without its backticks; one without a counterpart stays. */
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
