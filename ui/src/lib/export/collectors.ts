// SPDX-License-Identifier: GPL-2.0-or-later

import type { Export, Level } from '../api/types';
import { defaultOf } from '../form/defaults';
import type { Draft } from '../form/draft.svelte';
import type { Spec } from '../form/Form.svelte';
import { f } from '../form/messages';
import { text, type Section } from '../form/sections';

export const FILE = 'fastpath';
export const TYPE = 'export';

/** The only kind of collector with a form. */
const IPFIX = 'ipfix';

const TIMEOUTS = [1, 3600] as const;
const NUMBERS = [0, 2 ** 32 - 1] as const;
/** Enterprise number of reverse elements (RFC 5103). */
const REVERSE = 29_305;

export const main: readonly Spec[] = [
  { option: 'name' },
  {
    option: 'host',
    check: (host) => (isHost(host) ? '' : f('problem.not-an-address', { value: host })),
  },
  { option: 'port', range: [1, 65_535] },
  { option: 'protocol', choices: ['udp', 'tcp'] },
  { option: 'interface' },
  { option: 'enabled', kind: 'switch' },
];

export const advanced: readonly Spec[] = [
  { option: 'active_timeout', range: TIMEOUTS },
  { option: 'idle_timeout', range: TIMEOUTS },
  {
    option: 'template_refresh',
    range: [1, 86_400],
    when: (value) => value('protocol') === 'udp',
  },
  { option: 'domain', range: NUMBERS },
  {
    option: 'enterprise',
    range: [1, NUMBERS[1]],
    check: (value) => (Number(value) === REVERSE ? f('problem.reverse-enterprise', { value }) : ''),
  },
];

const known = [...main, ...advanced].map(({ option }) => option);

/** Returns the options of a section that the form does not know. */
export const othersOf = (section: Section): string[] =>
  Object.keys(section.values).filter((option) => option !== 'kind' && !known.includes(option));

export const kindOf = (section: Section): string => text(section, 'kind', IPFIX);
export const isEditable = (section: Section): boolean => kindOf(section) === IPFIX;

/** Returns the options of the form. By default, a collector has the name of its section. */
export const mainOf = (section: Section): Spec[] =>
  main.map((each) => (each.option === 'name' ? { ...each, otherwise: ownName(section) } : each));

const ownName = ({ section, label, anonymous }: Section) => label ?? (anonymous ? '' : section);

/**
 * Returns the collector's name in the router's report; empty for a new collector without a name.
 */
export const nameOf = (section: Section): string => text(section, 'name', ownName(section));

const withPort = (host: string, port: string) =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** Returns address and port, by default IPFIX's port or the reported port of another kind. */
export function addressOf(section: Section, now?: Export): string {
  const host = text(section, 'host');
  const reported = now?.kind === kindOf(section) ? String(now.port) : '';
  const port = text(section, 'port', isEditable(section) ? defaultOf(TYPE, 'port') : reported);
  return host && port ? withPort(host, port) : host;
}

/** Returns kind and transport, such as "IPFIX, UDP". */
export function transportOf(section: Section): string {
  const transport = text(section, 'protocol', isEditable(section) ? 'udp' : '');
  return [kindOf(section), transport].filter(Boolean).join(', ').toUpperCase();
}

/** Reports whether the text is a valid collector address. The daemon resolves no names. */
export function isHost(host: string): boolean {
  if (host.includes(':')) {
    return URL.canParse(`http://[${host}]`) && !/^ff/i.test(host) && !isUnspecified(host);
  }
  const parts = host.split('.');
  const bytes = parts.map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256));
  const [first = 0] = bytes;
  const multicast = first >= 224 && first < 240;
  return (
    bytes.length === 4 &&
    bytes.every((byte) => byte < 256) &&
    !multicast &&
    !bytes.every((byte) => byte === 0) &&
    !bytes.every((byte) => byte === 255)
  );
}

const isUnspecified = (host: string) => new URL(`http://[${host}]`).hostname === '[::]';

export function freeName(taken: readonly string[], wanted = 'collector'): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/**
 * State of a collector. `stalled`: the collector does not read; `new`: not applied yet; `unknown`:
 * the router's configuration in force lacks the section.
 */
export type ShownState = Export['state'] | 'stalled' | 'new' | 'unknown';

export function stateOf(now: Export | undefined, written: boolean): ShownState {
  if (!now) return written ? 'unknown' : 'new';
  return now.state === 'up' && now.cause.code === 'stalled' ? 'stalled' : now.state;
}

/** Level and sign of each state. All signs differ, so that states differ without colour. */
export const looks: Record<ShownState, readonly [Level, string]> = {
  off: ['notice', '–'],
  connecting: ['notice', '…'],
  up: ['ok', '✓'],
  stalled: ['warning', '!'],
  down: ['error', '×'],
  'no-route': ['error', '⊘'],
  new: ['notice', '+'],
  unknown: ['warning', '?'],
};

/** Returns the report on a section that the router has; `undefined` without a report. */
export function reportOf(
  reports: readonly Export[],
  draft: Pick<Draft, 'original'>,
  section: Section,
): Export | undefined {
  const written = draft.original(FILE, section.section);
  return written && reports.find(({ name }) => name === nameOf(written));
}

export const problemsOf = (
  draft: Pick<Draft, 'problemsOf'>,
  section: Section,
): (readonly [option: string, problem: string])[] =>
  isEditable(section) ? [] : [...draft.problemsOf(FILE, section.section)];

export const formId = (section: Section): string => `fastpath-collector-${section.section}`;

export const isRefused = (draft: Pick<Draft, 'problem'>, section: Section): boolean =>
  ['', ...known, ...othersOf(section)].some(
    (option) => draft.problem(FILE, section.section, option) !== '',
  );
