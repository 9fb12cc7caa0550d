// SPDX-License-Identifier: GPL-2.0-or-later
/** The locale of numbers, times and dates, and a cache of formatters. */

/** Cached: formatters are slow to create, and the table shows hundreds of numbers a second. */
const made = new Map<string, unknown>();
let locale: string | undefined;

/** Sets the locale; `undefined` stands for the browser's own. */
export function setLocale(wanted: string | undefined): void {
  locale = wanted;
  made.clear();
}

/** Returns the cached formatter of this name, made for the page's locale. */
export function formatter<F>(name: string, make: (locale: string | undefined) => F): F {
  const known = made.get(name);
  if (known !== undefined) return known as F;
  const fresh = make(locale);
  made.set(name, fresh);
  return fresh;
}

/** Returns the language with the user's region: `de-CH` has other separators than `de`. */
export function regional(language: string, wanted: readonly string[]): string {
  return wanted.find((tag) => tag.toLowerCase().split('-')[0] === language) ?? language;
}
