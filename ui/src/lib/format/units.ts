// SPDX-License-Identifier: GPL-2.0-or-later
/** Rates, bytes, counts and percent as text: units, digits, rounding. */

/** A number ready to be shown, its unit apart so that columns can align both. */
export interface Quantity {
  value: string;
  unit: string;
}

const rateUnits = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'];
const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Formatters are slow to make and the table shows hundreds of numbers a second: made once. */
const formatters = new Map<number, Intl.NumberFormat>();
let locale: string | undefined;

/** Chooses the language of numbers; the browser's own when undefined. */
export function setNumberLocale(wanted: string | undefined): void {
  locale = wanted;
  formatters.clear();
}

/** `least`: digits after the point that are kept even when they are zero. */
function decimals(value: number, digits: number, least = digits): string {
  const key = 10 * digits + least;
  let formatter = formatters.get(key);
  if (!formatter) {
    const fixed = { minimumFractionDigits: least, maximumFractionDigits: digits };
    formatter = new Intl.NumberFormat(locale, fixed);
    formatters.set(key, formatter);
  }
  return formatter.format(value);
}

/** Three significant digits, in steps of 1000; whole numbers in the smallest unit. */
function scaled(amount: number, units: string[], zeros = true): Quantity {
  let value = Number.isFinite(amount) ? Math.max(0, amount) : 0;
  let step = 0;
  // 999.5 would round up to "1000".
  while (value >= 999.5 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  const digits = step === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return { value: decimals(value, digits, zeros ? digits : 0), unit: units[step] ?? '' };
}

/** Bits per second. */
export function rate(bps: number): Quantity {
  return scaled(bps, rateUnits);
}

/** The same for an axis, whose steps are round: without zeros at the end. */
export function axisRate(bps: number): Quantity {
  return scaled(bps, rateUnits, false);
}

/** Bytes, in decimal units like every ISP and disk counts them. */
export function bytes(amount: number): Quantity {
  return scaled(amount, byteUnits);
}

export function count(amount: number): string {
  return decimals(amount, 0);
}

/** A share of 1 in percent. Only everything is "100": 0.9996 stays 99.9. */
export function percent(share: number): string {
  const value = Math.min(1, Math.max(0, share)) * 100;
  if (value === 100) return decimals(100, 0);
  return decimals(Math.floor(value * 10) / 10, 1);
}

export function text(quantity: Quantity): string {
  return `${quantity.value} ${quantity.unit}`;
}
