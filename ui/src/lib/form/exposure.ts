// SPDX-License-Identifier: GPL-2.0-or-later

import type * as Api from '../api/types-change';
import { f, maybe } from './messages';

/** An exposure to the Internet. Newer routers may send other codes. */
export type Exposure = Omit<Api.Exposure, 'code'> & { code: string };

function target({ code, to }: Exposure): string {
  if (to === '') return f('exposes.router');
  if (code === 'redirect') return f('exposes.host', { host: to });
  return to === '*' ? f('exposes.every') : f('exposes.zone', { zone: to });
}

/** Returns a sentence per exposure without duplicates; the router's text for unknown codes. */
export function dangers(exposes: readonly Exposure[]): string[] {
  const sentence = (each: Exposure) =>
    maybe(`exposes.${each.code}.why`, { zone: each.zone, to: target(each) }) || each.text;
  return [...new Set(exposes.map(sentence))];
}

/** Returns the consent text of each Internet zone, with everything that it would reach. */
export function consents(exposes: readonly Exposure[]): { zone: string; text: string }[] {
  const zones = [...new Set(exposes.map(({ zone }) => zone))];
  return zones.map((zone) => {
    const opened = exposes.filter((each) => each.zone === zone).map(target);
    return { zone, text: f('exposes.ok', { zone, to: [...new Set(opened)].join(', ') }) };
  });
}
