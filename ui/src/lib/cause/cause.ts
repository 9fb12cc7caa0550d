// SPDX-License-Identifier: GPL-2.0-or-later
/** Text of a reason that the router sends as a code, for states of engine, inspection, devices and
 * CPUs. */

import { translated, type Params } from '../i18n/t';

/** The states that have a reason; each has its keys in the catalogues of this folder. */
export type Kind = 'engine' | 'ips' | 'link' | 'cpu';

/** A reason as the router sends it; an older one sends no `cause`. */
export interface Reason {
  why: string;
  cause?: { code: string; params: Params };
}

/** The reason in the language of the page; as the router sends it where the page has no text. */
export function reason(kind: Kind, { why, cause }: Reason): string {
  if (!cause?.code) return why;
  const { inner, consequence, ...params } = cause.params;
  const text = (key: string, values?: Params) => translated('cause', key, values);
  const within = inner === undefined ? '' : text(`${kind}.${inner}`, params);
  const then = consequence === undefined ? '' : text(`then.${consequence}`);
  if (within === undefined || then === undefined) return why;
  const first = text(`${kind}.${cause.code}`, { ...params, inner: within });
  return first === undefined ? why : [first, then].filter(Boolean).join(' ');
}
