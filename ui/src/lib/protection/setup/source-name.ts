// SPDX-License-Identifier: GPL-2.0-or-later

/** The section `rules` of this name chooses among the rules that come with fastpath. */
export const OWN = 'fastpath';

/** Whether a new source may be called so: a name that uci takes, and not that of our own rules. */
export function isSourceName(name: string): boolean {
  return /^\w{1,64}$/.test(name) && name !== OWN;
}
