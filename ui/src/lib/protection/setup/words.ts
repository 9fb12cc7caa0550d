// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../../i18n/t';
import type en from './en.json';

export type WordKey = keyof typeof en;

/** The words of policy and rules. */
export const s = translator<WordKey>('protection/setup');

/** The words of a key put together from names; empty when there are none. */
export function maybe(key: string): string {
  const words = s(key as WordKey);
  return words === key ? '' : words;
}
