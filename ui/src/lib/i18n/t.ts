// SPDX-License-Identifier: GPL-2.0-or-later
import en from './en.json';

/** A message, or one for each plural form of its parameter `n`. */
type Message = string | Partial<Record<Intl.LDMLPluralRule, string>>;
export type MessageKey = keyof typeof en;
export type Catalogue = Record<MessageKey, Message>;
export type Params = Record<string, string | number>;

const catalogues: Record<string, Catalogue> = { en };

let language = 'en';
let plurals = new Intl.PluralRules(language);

/** Chooses the first of the wanted languages that there is a catalogue for; English otherwise. */
export function setLanguage(...wanted: (string | undefined)[]): string {
  const known = wanted.map((tag) => tag?.toLowerCase().split('-')[0] ?? '');
  language = known.find((tag) => tag in catalogues) ?? 'en';
  plurals = new Intl.PluralRules(language);
  return language;
}

/** The message with each `{name}` replaced by its parameter. */
export function t(key: MessageKey, params: Params = {}): string {
  const message: Message = (catalogues[language] ?? en)[key];
  return fill(typeof message === 'string' ? message : plural(message, params), params);
}

function plural(forms: Partial<Record<Intl.LDMLPluralRule, string>>, params: Params): string {
  const n = Number(String(params['n'] ?? 0).replaceAll(/[^\d.-]/g, ''));
  return forms[plurals.select(n)] ?? forms.other ?? '';
}

function fill(text: string, params: Params): string {
  return text.replaceAll(/\{(\w+)\}/g, (hole, name: string) => String(params[name] ?? hole));
}
