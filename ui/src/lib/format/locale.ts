// SPDX-License-Identifier: GPL-2.0-or-later
/** The locale of numbers, times and dates, and the formatters made for it. */

/** Formatters are slow to make and the table shows hundreds of numbers a second: made once. */
const made = new Map<string, unknown>();
let locale: string | undefined;

/** Chooses the locale; the browser's own when undefined. */
export function setLocale(wanted: string | undefined): void {
  locale = wanted;
  made.clear();
}

/** The formatter of this name in the locale of the page. */
export function formatter<F>(name: string, make: (locale: string | undefined) => F): F {
  const known = made.get(name);
  if (known !== undefined) return known as F;
  const fresh = make(locale);
  made.set(name, fresh);
  return fresh;
}

/** The language as the user's region writes it: `de-CH` has other separators than `de`. */
export function regional(language: string, wanted: readonly string[]): string {
  return wanted.find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language;
}
