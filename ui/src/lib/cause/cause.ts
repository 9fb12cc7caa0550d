// SPDX-License-Identifier: GPL-2.0-or-later

import { translated, type Params } from '../i18n/t';

/** Kinds of reasons, which prefix the keys in the catalogues of this folder. */
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

/** A reason as the router sends it; older routers send no `cause`. */
export interface Reason {
  why: string;
  cause?: { code: string; params: Params } | undefined;
}

/** The field `error` of an answer; older routers send no `cause`. */
export interface Refused {
  code: string;
  text: string;
  cause?: Reason['cause'];
}

/** Kinds of nested reasons that differ from the outer kind. */
const innerKinds: Partial<Record<Kind, Kind>> = { engine: 'ebpf', source: 'fault' };

/** Returns the reason in the page's language, or the router's text if a code is unknown. */
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
  const effect = consequence === undefined ? '' : text(`then.${consequence}`);
  if (whole === undefined || effect === undefined) return why;
  return [whole, effect].filter(Boolean).join(' ');
}

/** Variant of `reason` for answers with the field `text`. */
export const reasonOf = (
  kind: Kind,
  { text: why, cause }: { text: string; cause?: Reason['cause'] },
): string => reason(kind, { why, cause });
