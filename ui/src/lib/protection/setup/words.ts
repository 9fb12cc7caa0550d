// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../../i18n/t';
import en from './en.json';

export type WordKey = keyof typeof en;

/** The words of policy and rules, which come with them. */
export const s = translator<Record<WordKey, (typeof en)[WordKey]>>({ en });

/** The words of a key put together from names; empty when there are none. */
export function maybe(key: string): string {
  return key in en ? s(key as WordKey) : '';
}
