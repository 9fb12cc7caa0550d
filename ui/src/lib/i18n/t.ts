// SPDX-License-Identifier: GPL-2.0-or-later
/** Messages of the page by key, with parameters and plural forms. */

import { languages, lateParts } from 'virtual:messages';
import type en from './en.json';
import { awaitParts, partsArrived } from './late.svelte';

/** A message, or one per plural form of its parameter `n`. */
export type Message = string | Partial<Record<Intl.LDMLPluralRule, string>>;
/** The messages of a language, by part of the page. */
export type Messages = Record<string, Record<string, Message>>;
export type MessageKey = keyof typeof en;
export type Params = Record<string, string | number>;

let messages: Messages = {};
let plurals = new Intl.PluralRules('en');
let late: Promise<void> | undefined;

/** Returns the first wanted language with a catalogue; English if there is none. */
export function known(...wanted: (string | undefined)[]): string {
  const tags = wanted.map((tag) => tag?.toLowerCase().split(/[-_]/)[0] ?? '');
  return tags.find((tag) => Object.hasOwn(languages, tag)) ?? 'en';
}

/** Languages with a catalogue. */
export const tags: readonly string[] = Object.keys(languages);

/**
 * Fetches the catalogue of a language, which all later messages use. Parts with English texts from
 * the router are fetched afterwards.
 */
export async function setLanguage(tag: string): Promise<void> {
  const fetched = await languages[tag]?.();
  if (!fetched) throw new Error(`language ${tag} is not available`);
  messages = fetched;
  plurals = new Intl.PluralRules(tag);
  late = lateParts[tag]?.().then((parts) => {
    if (messages !== fetched) return;
    messages = { ...fetched, ...parts };
    partsArrived();
  });
}

/** Resolves once the parts fetched afterwards have arrived. */
export const allParts = async (): Promise<void> => late;

/** Returns a message of a part of the page; `undefined` if the language lacks it. */
export function translated(part: string, key: string, params: Params = {}): string | undefined {
  if (!messages[part]) awaitParts();
  const message = messages[part]?.[key];
  if (message === undefined) return undefined;
  return fill(typeof message === 'string' ? message : plural(message, params), params);
}

/** Returns the keys of a part of the page, in the order of its catalogue. */
export const keysOf = (part: string): string[] => Object.keys(messages[part] ?? {});

/** Returns a function that looks up the messages of a part of the page. */
export function translator<K extends string>(part: string): (key: K, params?: Params) => string {
  // Newer daemons may send codes that this page does not know; showing the key is not fatal.
  return (key, params) => translated(part, key, params) ?? key;
}

/** Returns a message of the common part, with each `{name}` replaced by its parameter. */
export const t = translator<MessageKey>('i18n');

function plural(forms: Partial<Record<Intl.LDMLPluralRule, string>>, params: Params): string {
  const n = Number(String(params['n'] ?? 0).replaceAll(/[^\d-]/g, ''));
  return forms[plurals.select(n)] ?? forms.other ?? '';
}

function fill(text: string, params: Params): string {
  return text.replaceAll(/\{(\w+)\}/g, (hole, name: string) => String(params[name] ?? hole));
}
