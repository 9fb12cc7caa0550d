// SPDX-License-Identifier: GPL-2.0-or-later

import { d } from './messages';

/** Returns the name of a kind of device; newer routers may know more kinds. */
export function kindName(kind: string): string {
  const key = `kind.${kind || 'none'}`;
  const text = d(key as 'kind.none');
  return text === key ? kind : text;
}
