// SPDX-License-Identifier: GPL-2.0-or-later

/** The longest value on one line, in characters. */
const WIDTH = 200;

/**
 * JSON with one row a line: a value is on one line if it fits there, and on one line for each of
 * its elements otherwise. A changed answer then differs in the lines of its rows.
 */
export function rows(value: unknown, indent = ''): string {
  const line = JSON.stringify(value);
  if (line.length <= WIDTH || typeof value !== 'object' || value === null) return line;
  const deeper = `${indent} `;
  const list = Array.isArray(value);
  const elements = list
    ? value.map((element) => rows(element, deeper))
    : Object.entries(value).map(([key, of]) => `${JSON.stringify(key)}: ${rows(of, deeper)}`);
  const inner = elements.map((element) => `\n${deeper}${element}`).join(',');
  return list ? `[${inner}\n${indent}]` : `{${inner}\n${indent}}`;
}
