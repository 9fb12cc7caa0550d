// SPDX-License-Identifier: GPL-2.0-or-later

/** Cached, because formatters are slow to create and a table has hundreds of numbers. */
const made = new Map<string, unknown>();
let locale: string | undefined;

/** Sets the locale; `undefined` is the browser's default. */
export function setLocale(wanted: string | undefined): void {
  locale = wanted;
  made.clear();
}

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
