// SPDX-License-Identifier: GPL-2.0-or-later

import { Fault } from '../api/errors';
import type { Fastpath } from '../api/fastpath';
import type { Spec } from '../form/Form.svelte';
import { text, type Section } from '../form/sections';
import { e } from './messages';

export const TYPE = 'notification';

/** A receiver in the answer of `fastpath.notify status`. */
export interface Receiver {
  name: string;
  pending: number;
  lost: number;
  delivered_ms: number;
  error: string;
  tested_ms: number;
  test: string;
}

const byUrl = (value: (option: string) => string) => value('mail') === '';

export const specs: readonly Spec[] = [
  { option: 'name' },
  { option: 'url', when: byUrl },
  { option: 'mail', when: (value) => value('url') === '' },
  { option: 'format', choices: ['json', 'ntfy', 'matrix'], when: byUrl },
  { option: 'token', kind: 'secret', when: byUrl },
  { option: 'ca', when: byUrl },
  { option: 'event', kind: 'list' },
  { option: 'enabled', kind: 'switch' },
];

export const nameOf = (section: Section): string =>
  text(section, 'name', section.anonymous ? '' : section.section);

/** Returns the receivers; `null` if package fastpath-notify is not installed. */
export async function receivers(
  api: Pick<Fastpath, 'request'>,
  signal?: AbortSignal,
): Promise<Receiver[] | null> {
  try {
    const answer = await api.request('fastpath.notify', 'status', {}, signal);
    return answer['receivers'] as Receiver[];
  } catch (fault) {
    if (fault instanceof Fault && ['absent', 'denied'].includes(fault.kind)) return null;
    throw fault;
  }
}

const ERRORS = [
  'url',
  'token',
  'resolve',
  'connect',
  'timeout',
  'tls',
  'curl',
  'http',
  'mail',
  'sendmail',
  'daemon',
  'history',
] as const;

/** Returns the message for a reason such as `tls` or `http 500`. */
export function reasonOf(error: string): string {
  const [word = '', number = ''] = error.split(' ');
  const known = ERRORS.find((each) => each === word);
  if (known === 'curl' || known === 'sendmail') {
    return number ? e(`error.${known}.status`, { number }) : e(`error.${known}`);
  }
  return known ? e(`error.${known}`, { number }) : error;
}
