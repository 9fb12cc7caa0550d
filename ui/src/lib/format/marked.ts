// SPDX-License-Identifier: GPL-2.0-or-later

export interface Piece {
  text: string;
  /** Text to be typed verbatim: a command, a file or an option. */
  code: boolean;
}

/** Splits a text into code between backticks and other text; an unmatched backtick stays. */
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
