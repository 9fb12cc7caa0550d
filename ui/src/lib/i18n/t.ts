// SPDX-License-Identifier: GPL-2.0-or-later
/** Messages by key: the language in use, parameters, plural forms, keys without a message. */

import { languages, lateParts } from 'virtual:messages';
import type en from './en.json';
import { awaitParts, partsArrived } from './late.svelte';

/** A message, or one for each plural form of its parameter `n`. */
export type Message = string | Partial<Record<Intl.LDMLPluralRule, string>>;
/** The messages of one language by the part of the page that they belong to. */
export type Messages = Record<string, Record<string, Message>>;
export type MessageKey = keyof typeof en;
export type Params = Record<string, string | number>;

let messages: Messages = {};
let plurals = new Intl.PluralRules('en');
let late: Promise<void> | undefined;

/** The first of the wanted languages that there is a catalogue for; English otherwise. */
export function known(...wanted: (string | undefined)[]): string {
  const tags = wanted.map((tag) => tag?.toLowerCase().split(/[-_]/)[0] ?? '');
  return tags.find((tag) => Object.hasOwn(languages, tag)) ?? 'en';
}

/** Every language there is a catalogue for. */
export const tags: readonly string[] = Object.keys(languages);

/**
 * Fetches the catalogue of a language; every later message is in it. Parts whose English text the
 * router sends follow by themselves.
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

/** Resolves once the parts that follow are there. */
export const allParts = async (): Promise<void> => late;

/** A message of one part of the page; none where this language does not have it. */
export function translated(part: string, key: string, params: Params = {}): string | undefined {
  if (!messages[part]) awaitParts();
  const message = messages[part]?.[key];
  if (message === undefined) return undefined;
  return fill(typeof message === 'string' ? message : plural(message, params), params);
}

/** The keys of one part of the page, in the order of its catalogue. */
export const keysOf = (part: string): string[] => Object.keys(messages[part] ?? {});

/** The messages of one part of the page. */
export function translator<K extends string>(part: string): (key: K, params?: Params) => string {
  // A newer daemon may have a code that this page does not know: better shown than fatal.
  return (key, params) => translated(part, key, params) ?? key;
}

/** The message with each `{name}` replaced by its parameter. */
export const t = translator<MessageKey>('i18n');

function plural(forms: Partial<Record<Intl.LDMLPluralRule, string>>, params: Params): string {
  const n = Number(String(params['n'] ?? 0).replaceAll(/[^\d-]/g, ''));
  return forms[plurals.select(n)] ?? forms.other ?? '';
}

function fill(text: string, params: Params): string {
  return text.replaceAll(/\{(\w+)\}/g, (hole, name: string) => String(params[name] ?? hole));
}
