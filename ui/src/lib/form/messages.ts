// SPDX-License-Identifier: GPL-2.0-or-later
import { translator, type Params } from '../i18n/t';
import type en from './en.json';

export type FormKey = keyof typeof en;

export const f = translator<FormKey>('form');

/** Returns the message of a composed key; empty if the catalogue lacks it. */
export function maybe(key: string, params?: Params): string {
  const text = f(key as FormKey, params);
  return text === key ? '' : text;
}

/** Returns the message in the page's language; the router's text if the catalogue lacks it. */
export function localized(
  kind: 'problem' | 'cut',
  said: { code: string; text: string; params?: Params | undefined },
): string {
  return maybe(`${kind}.${said.code}`, said.params) || said.text;
}
