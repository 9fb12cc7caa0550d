// SPDX-License-Identifier: GPL-2.0-or-later
/** Internet connections that a change must not lose: which were up before it, and which of them
 * are still down after it. */

import type { Wan } from '../api/types';
import type { Edit } from './sections';

/** Files whose changes may take a connection down. */
const files = ['network', 'wireless'];

type Line = Pick<Wan, 'name' | 'up' | 'hindrance'>;

/** Whether a change may take a connection down. */
export const mayCut = (edits: readonly Edit[]): boolean =>
  edits.some(({ config }) => files.includes(config));

/** Whether a change makes one of these connections dial again. */
export const redials = (edits: readonly Edit[], lines: readonly string[]): boolean =>
  edits.some(
    (each) =>
      each.config === 'network' &&
      'section' in each &&
      !!each.section &&
      lines.includes(each.section),
  );

export const linesUp = (wan: readonly Line[]): string[] =>
  wan.filter(({ up }) => up).map(({ name }) => name);

/** The connections that have not come back. Removed or switched off ones need not. */
export function linesDown(lines: readonly string[], wan: readonly Line[]): string[] {
  const down = wan.filter(({ up, hindrance }) => !up && hindrance !== 'disconnected');
  return lines.filter((line) => down.some(({ name }) => name === line));
}
