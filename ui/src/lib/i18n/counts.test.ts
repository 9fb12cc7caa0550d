// SPDX-License-Identifier: GPL-2.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { catalogues, sentByRouter } from '../../../build/messages';
import type { Message } from './t';

type Nested = { [key: string]: Message | Nested };

const counted =
  'n all bound chains count days each flows inside limit longest lost more most ' +
  'overhead packets queues rules seconds times total';
const count = new RegExp(`\\{(?:${counted.replaceAll(' ', '|')})\\}[ \\u00a0](\\p{L}+)`, 'gu');

/** Words with the same form after one and after several. */
const unchanging = new Set(
  (
    's ms of more offloaded local ended failed counted could too or possible matches ' +
    'möglichen von weitere ausgelagert per lokal beendet nicht gezählt zu oder trifft'
  ).split(' '),
);

/** Messages whose number is never one, with the reason. */
const neverOne: Record<string, string> = {
  'i18n foreign.all': 'only longer texts are cut',
  'cause ips.rules-failed': 'rule-failed is for one',
  'cause ips.queues-open': 'no-queue is for none of one',
  'cause ips.queues-closed': 'no-queue is for none of one',
  'cause source.too-large': 'a limit of megabytes',
  'cause source.unpacked': 'a limit of megabytes',
  'cause source.entries': 'a limit of thousands',
  'cause fault.long-line': 'a limit of kilobytes',
  'cause fault.long-header': 'a limit of kilobytes',
  'cause fault.many-rules': 'a limit of thousands',
  'cause refusal.password-length': 'a limit of many bytes',
  'wan latency.active': 'the overhead of Ethernet is larger',
  'form problem.too-long': 'a limit of several bytes',
  'form problem.too-many-characters': 'a limit of several characters',
  'form problem.too-many-ports': 'a limit of several ports',
  'form problem.too-many-sections': 'a limit of many sections',
  'health/findings flowtable.flowtable-stale.title': 'reported above 30 seconds',
  'health/findings bridge.bridge-per-vlan.title': 'one bridge has nothing to be joined with',
  'health/findings conntrack.conntrack-hash.title': 'reported from two entries on',
  'health/findings conntrack.conntrack-hash.consequence': 'reported from two entries on',
  'health/findings cpu.cpu-plan-off.title': 'one CPU needs no plan',
  'health/findings ips.ips-rules.title': 'reported above seven days',
};

const same = new Set([
  'en: protection alerts.since',
  'de: protection alerts.since',
  'de: protection alerts.matched',
]);

/** Reports whether a value has plural forms; other objects are groups of messages. */
const hasForms = (value: Message | Nested): value is Exclude<Message, string> =>
  typeof value === 'object' && 'other' in value;

function flat(value: Nested, at = ''): [string, Message][] {
  return Object.entries(value).flatMap(([key, inner]): [string, Message][] =>
    typeof inner === 'string' || hasForms(inner)
      ? [[at + key, inner as Message]]
      : flat(inner, `${at}${key}.`),
  );
}

/** Returns the words whose form depends on the number before them. */
const bound = (text: string) =>
  [...text.matchAll(count)].map(([, word = '']) => word).filter((word) => !unchanging.has(word));

const files = Object.entries(catalogues()).flatMap(([language, parts]) =>
  Object.entries(language === 'en' ? { ...parts, ...sentByRouter } : parts).map(
    ([part, file]) => [language, part, file] as const,
  ),
);
const messages = files.flatMap(([language, part, file]) =>
  flat(JSON.parse(readFileSync(file, 'utf8')) as Nested).map(([key, message]) => {
    return { language, name: `${part} ${key}`, message };
  }),
);

describe('messages with a number', () => {
  it('have singular and plural forms', () => {
    const wrong = messages.filter(
      ({ name, message }) =>
        typeof message === 'string' && bound(message).length > 0 && !(name in neverOne),
    );
    expect(wrong).toEqual([]);
  });

  it('have different forms', () => {
    for (const { language, name, message } of messages) {
      if (typeof message === 'string') continue;
      const at = `${language}: ${name}`;
      const { one = '', other = '' } = message;
      expect(one.includes('{n}'), at).toBe(other.includes('{n}'));
      if (bound(other).length > 0 && !same.has(at)) expect(one, at).not.toBe(other);
    }
  });

  it('have no outdated exceptions', () => {
    const numbered = messages.filter(
      ({ message }) => typeof message === 'string' && bound(message).length > 0,
    );
    const names = new Set(numbered.map(({ name }) => name));
    expect(Object.keys(neverOne).filter((name) => !names.has(name))).toEqual([]);
    const all = messages.map(({ language, name }) => `${language}: ${name}`);
    expect([...same].filter((at) => !all.includes(at))).toEqual([]);
  });
});
