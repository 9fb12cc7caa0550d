// SPDX-License-Identifier: GPL-2.0-or-later
/** Collectors: names, addresses, states, options of an IPFIX collector and their ranges. */

import type { Export, Level } from '../api/types';
import { defaultOf } from '../form/defaults';
import type { Draft } from '../form/draft.svelte';
import type { Spec } from '../form/Form.svelte';
import { f } from '../form/messages';
import { text, type Section } from '../form/sections';

export const FILE = 'fastpath';
export const TYPE = 'export';

/** The kind of collector that this screen can edit. */
const IPFIX = 'ipfix';

const TIMEOUTS = [1, 3600] as const;
const NUMBERS = [0, 2 ** 32 - 1] as const;
/** Enterprise number of reverse elements (RFC 5103). */
const REVERSE = 29_305;

/** Options of every collector. */
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

/** Options that few collectors need. */
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

/** Returns the options of a collector that the form does not know. */
export const othersOf = (section: Section): string[] =>
  Object.keys(section.values).filter((option) => option !== 'kind' && !known.includes(option));

export const kindOf = (section: Section): string => text(section, 'kind', IPFIX);
export const isEditable = (section: Section): boolean => kindOf(section) === IPFIX;

/** Returns the options of the form; the section's name is the default name. */
export const mainOf = (section: Section): Spec[] =>
  main.map((each) => (each.option === 'name' ? { ...each, otherwise: ownName(section) } : each));

const ownName = ({ section, label, anonymous }: Section) => label ?? (anonymous ? '' : section);

/** Returns the name in the router's report; empty for a new collector without a name. */
export const nameOf = (section: Section): string => text(section, 'name', ownName(section));

/** Appends a port; an IPv6 address is put in brackets. */
const withPort = (host: string, port: string) =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** Returns address and port. The default port is IPFIX's, or for other kinds the reported one. */
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

/** Reports whether an address can be a collector's; the daemon does not resolve names. */
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

/** Returns a name that no collector has. */
export function freeName(taken: readonly string[], wanted = 'collector'): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (!taken.includes(name)) return name;
  }
}

/** States of a collector. `stalled`: it does not read; `new`: not written yet; `unknown`: the
 * router still runs a configuration without the section. */
export type ShownState = Export['state'] | 'stalled' | 'new' | 'unknown';

export function stateOf(now: Export | undefined, written: boolean): ShownState {
  if (!now) return written ? 'unknown' : 'new';
  return now.state === 'up' && now.cause.code === 'stalled' ? 'stalled' : now.state;
}

/** Level and sign of each state; every sign differs, so that colour is not the only difference. */
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

/** Returns the router's report on a written section; `undefined` without one. */
export function reportOf(
  reports: readonly Export[],
  draft: Pick<Draft, 'original'>,
  section: Section,
): Export | undefined {
  const written = draft.original(FILE, section.section);
  return written && reports.find(({ name }) => name === nameOf(written));
}

/** Returns option and problem of a section that has no form here. */
export const problemsOf = (
  draft: Pick<Draft, 'problemsOf'>,
  section: Section,
): (readonly [option: string, problem: string])[] =>
  isEditable(section) ? [] : [...draft.problemsOf(FILE, section.section)];

/** Returns the id of a section's form in the document. */
export const formId = (section: Section): string => `fastpath-collector-${section.section}`;

/** Reports whether the section or one of its options has a problem. */
export const isRefused = (draft: Pick<Draft, 'problem'>, section: Section): boolean =>
  ['', ...known, ...othersOf(section)].some(
    (option) => draft.problem(FILE, section.section, option) !== '',
  );
