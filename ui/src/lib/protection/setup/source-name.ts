// SPDX-License-Identifier: GPL-2.0-or-later

/** Section `rules` of the built-in rules. */
export const OWN = 'fastpath';

/** Reports whether uci accepts the name, and no built-in section has it. */
export function isSourceName(name: string): boolean {
  return /^\w{1,64}$/.test(name) && name !== OWN;
}
