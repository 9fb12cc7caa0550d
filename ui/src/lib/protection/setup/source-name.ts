// SPDX-License-Identifier: GPL-2.0-or-later

/** Name of the section `rules` for the rules that come with fastpath. */
export const OWN = 'fastpath';

/** Reports whether a new source may have this name, which uci must accept. */
export function isSourceName(name: string): boolean {
  return /^\w{1,64}$/.test(name) && name !== OWN;
}
