// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../../i18n/t';
import type en from './en.json';

export type MessageKey = keyof typeof en;

/** The messages of policy and rules. */
export const s = translator<MessageKey>('protection/setup');

/** The message of a composed key; empty when there is none. */
export function maybe(key: string): string {
  const words = s(key as MessageKey);
  return words === key ? '' : words;
}
