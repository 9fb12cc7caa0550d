// SPDX-License-Identifier: GPL-2.0-or-later
import en from './en.json';

/** A message, or one for each plural form of its parameter `n`. */
type Message = string | Partial<Record<Intl.LDMLPluralRule, string>>;
export type MessageKey = keyof typeof en;
export type Catalogue = Record<MessageKey, Message>;
export type Params = Record<string, string | number>;

/** Every language there is a catalogue for. */
const languages = ['en'];

let language = 'en';
let plurals = new Intl.PluralRules(language);

/** Chooses the first of the wanted languages that there is a catalogue for; English otherwise. */
export function setLanguage(...wanted: (string | undefined)[]): string {
  const known = wanted.map((tag) => tag?.toLowerCase().split('-')[0] ?? '');
  language = known.find((tag) => languages.includes(tag)) ?? 'en';
  plurals = new Intl.PluralRules(language);
  return language;
}

/**
 * The messages of one catalogue. A screen loaded later brings its own, so that the words of all
 * screens are not part of the first load.
 */
export function translator<C extends Record<string, Message>>(
  catalogues: { en: C } & Record<string, C>,
): (key: keyof C, params?: Params) => string {
  return (key, params = {}) => {
    const message: Message | undefined = (catalogues[language] ?? catalogues.en)[key];
    // A newer daemon may have a word that this page does not know: better shown than fatal.
    if (message === undefined) return String(key);
    return fill(typeof message === 'string' ? message : plural(message, params), params);
  };
}

/** The message with each `{name}` replaced by its parameter. */
export const t = translator<Catalogue>({ en });

function plural(forms: Partial<Record<Intl.LDMLPluralRule, string>>, params: Params): string {
  const n = Number(String(params['n'] ?? 0).replaceAll(/[^\d.-]/g, ''));
  return forms[plurals.select(n)] ?? forms.other ?? '';
}

function fill(text: string, params: Params): string {
  return text.replaceAll(/\{(\w+)\}/g, (hole, name: string) => String(params[name] ?? hole));
}
