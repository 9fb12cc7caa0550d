// SPDX-License-Identifier: GPL-2.0-or-later
import { translator, type Params } from '../i18n/t';
import type en from './en.json';

export type FormWord = keyof typeof en;

/** The words of what all forms share, and of the options that they have. */
export const f = translator<FormWord>('form');

/** The words of a key put together from names; empty when there are none. */
export function maybe(key: string, params?: Params): string {
  const words = f(key as FormWord, params);
  return words === key ? '' : words;
}

/** What the router says, in the language of the page where it has words for it. */
export function judgement(
  kind: 'problem' | 'cut',
  said: { code: string; text: string; params?: Params | undefined },
): string {
  return maybe(`${kind}.${said.code}`, said.params) || said.text;
}
