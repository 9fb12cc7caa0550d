// SPDX-License-Identifier: GPL-2.0-or-later
/** Text of a reason that the router sends as a code, for states of engine, inspection, devices and
 * CPUs. */

import { translated, type Params } from '../i18n/t';

/** States that have a reason, faults of a rule source, and refusals; each has its keys in the
 * catalogues of this folder. */
export type Kind =
  | 'engine'
  | 'revocation'
  | 'ebpf'
  | 'ips'
  | 'latency'
  | 'doctor'
  | 'link'
  | 'cpu'
  | 'steering'
  | 'difference'
  | 'export'
  | 'rules'
  | 'source'
  | 'fault'
  | 'refusal';

/** A reason as the router sends it; an older one sends no `cause`. */
export interface Reason {
  why: string;
  cause?: { code: string; params: Params } | undefined;
}

/** A refusal in the answer of an object: the field `error`. An older router sends no `cause`. */
export interface Refused {
  code: string;
  text: string;
  cause?: Reason['cause'];
}

/** Of reasons within others of another kind: their kind. */
const innerKinds: Partial<Record<Kind, Kind>> = { engine: 'ebpf', source: 'fault' };

/** The reason in the language of the page; as the router sends it where the page has no text. */
export function reason(kind: Kind, { why, cause }: Reason): string {
  if (!cause?.code) return why;
  const { inner = '', consequence, ...params } = cause.params;
  const text = (key: string, values?: Params) => translated('cause', key, values);
  const codes = `${cause.code} ${inner}`.trim().split(' ');
  const whole = codes.reduceRight<string | undefined>((within, code, depth) => {
    if (within === undefined) return undefined;
    const of = depth === 0 ? kind : (innerKinds[kind] ?? kind);
    return text(`${of}.${code}`, { ...params, inner: within });
  }, '');
  const then = consequence === undefined ? '' : text(`then.${consequence}`);
  if (whole === undefined || then === undefined) return why;
  return [whole, then].filter(Boolean).join(' ');
}

/** The same where the router calls the reason `text`. */
export const reasonOf = (
  kind: Kind,
  { text: why, cause }: { text: string; cause?: Reason['cause'] },
): string => reason(kind, { why, cause });
