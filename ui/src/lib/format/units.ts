// SPDX-License-Identifier: GPL-2.0-or-later
/** Rates and bytes do not use Intl's units, which abbreviate a megabit as "Mb". */

import { formatter } from './locale';

export interface Quantity {
  value: string;
  unit: string;
}

const rateUnits = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'];
const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Formats a number with `least` to `digits` digits after the point. */
function decimals(value: number, digits: number, least = digits): string {
  const format = { minimumFractionDigits: least, maximumFractionDigits: digits };
  const make = (locale?: string) => new Intl.NumberFormat(locale, format);
  return formatter(`${least}-${digits}`, make).format(value);
}

/** Scales to three significant digits in steps of 1000; the smallest unit has whole numbers. */
function scaled(amount: number, units: string[], zeros = true): Quantity {
  let value = Number.isFinite(amount) ? Math.max(0, amount) : 0;
  let step = 0;
  // 999.5 would be rounded to "1000".
  while (value >= 999.5 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  const digits = step === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return { value: decimals(value, digits, zeros ? digits : 0), unit: units[step] ?? '' };
}

export function rate(bps: number): Quantity {
  return scaled(bps, rateUnits);
}

/** Formats a rate for an axis, without trailing zeros. */
export function axisRate(bps: number): Quantity {
  return scaled(bps, rateUnits, false);
}

/** Formats bytes in decimal units, as providers and disks do. */
export function bytes(amount: number): Quantity {
  return scaled(amount, byteUnits);
}

export function count(amount: number): string {
  return decimals(amount, 0);
}

export interface PercentPart {
  text: string;
  sign: boolean;
}

/** Formats a share as a percentage, rounded down so that only 1 is "100%". */
export function percentParts(share: number): PercentPart[] {
  const value = Math.min(1, Math.max(0, share));
  const digits = value === 1 ? 0 : 1;
  const format = { style: 'percent', minimumFractionDigits: digits } as const;
  const make = (locale?: string) => new Intl.NumberFormat(locale, format);
  const shown = value === 1 ? 1 : Math.floor(value * 1000) / 1000;
  const parts: PercentPart[] = [];
  for (const { type, value: text } of formatter(`percent-${digits}`, make).formatToParts(shown)) {
    const sign = type === 'percentSign' || type === 'literal';
    const last = parts.at(-1);
    if (last?.sign === sign) last.text += text;
    else parts.push({ text, sign });
  }
  return parts;
}

/** Formats a share as text: "91.5%" in English, "91,5 %" in German. */
export function percent(share: number): string {
  return percentParts(share)
    .map((part) => part.text)
    .join('');
}

export function text(quantity: Quantity): string {
  return `${quantity.value} ${quantity.unit}`;
}
