// SPDX-License-Identifier: GPL-2.0-or-later

/** Maximum length of a value on one line, in characters. */
const WIDTH = 200;

/**
 * Formats JSON with one value per line if it fits, else one element per line. A diff then shows
 * only the changed values.
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
