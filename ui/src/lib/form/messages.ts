// SPDX-License-Identifier: GPL-2.0-or-later
import { translator, type Params } from '../i18n/t';
import type en from './en.json';

export type FormKey = keyof typeof en;

/** The messages that all forms share, and those of their options. */
export const f = translator<FormKey>('form');

/** The message of a composed key; empty when there is none. */
export function maybe(key: string, params?: Params): string {
  const text = f(key as FormKey, params);
  return text === key ? '' : text;
}

/** The router's message in the page's language where the catalogue has it. */
export function judgement(
  kind: 'problem' | 'cut',
  said: { code: string; text: string; params?: Params | undefined },
): string {
  return maybe(`${kind}.${said.code}`, said.params) || said.text;
}
