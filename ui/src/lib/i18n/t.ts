// SPDX-License-Identifier: GPL-2.0-or-later

import { languages, lateParts } from 'virtual:messages';
import type en from './en.json';
import { awaitParts, partsArrived } from './late.svelte';

/** A message, or one per plural form of its parameter `n`. */
export type Message = string | Partial<Record<Intl.LDMLPluralRule, string>>;
export type Messages = Record<string, Record<string, Message>>;
export type MessageKey = keyof typeof en;
export type Params = Record<string, string | number>;

let messages: Messages = {};
let plurals = new Intl.PluralRules('en');
let late: Promise<void> | undefined;

/** Returns the first wanted language with a catalogue, by default English. */
export function known(...wanted: (string | undefined)[]): string {
  const tags = wanted.map((tag) => tag?.toLowerCase().split(/[-_]/)[0] ?? '');
  return tags.find((tag) => Object.hasOwn(languages, tag)) ?? 'en';
}

export const tags: readonly string[] = Object.keys(languages);

/**
 * Loads a language for all later messages. Some parts are fetched afterwards; until then, they stay
 * in the previous language.
 */
export async function setLanguage(tag: string): Promise<void> {
  const fetched = await languages[tag]?.();
  if (!fetched) throw new Error(`language ${tag} is not available`);
  const now = { ...messages, ...fetched };
  messages = now;
  plurals = new Intl.PluralRules(tag);
  late = lateParts[tag]?.().then((parts) => {
    if (messages !== now) return;
    messages = { ...fetched, ...parts };
    partsArrived();
  });
}

export const allParts = async (): Promise<void> => late;

/** Returns a message; `undefined` if the language lacks it. */
export function translated(part: string, key: string, params: Params = {}): string | undefined {
  if (!messages[part]) awaitParts();
  const message = messages[part]?.[key];
  if (message === undefined) return undefined;
  return fill(typeof message === 'string' ? message : plural(message, params), params);
}

export const keysOf = (part: string): string[] => Object.keys(messages[part] ?? {});

export function translator<K extends string>(part: string): (key: K, params?: Params) => string {
  // Newer daemons may send unknown codes, whose key is shown instead.
  return (key, params) => translated(part, key, params) ?? key;
}

export const t = translator<MessageKey>('i18n');

function plural(forms: Partial<Record<Intl.LDMLPluralRule, string>>, params: Params): string {
  const n = Number(String(params['n'] ?? 0).replaceAll(/[^\d-]/g, ''));
  return forms[plurals.select(n)] ?? forms.other ?? '';
}

function fill(text: string, params: Params): string {
  return text.replaceAll(/\{(\w+)\}/g, (hole, name: string) => String(params[name] ?? hole));
}
