// SPDX-License-Identifier: GPL-2.0-or-later
/** Internet connections that a change must not lose. */

import type { Wan } from '../api/types';
import type { Edit } from './sections';

/** Files with settings that may take a connection down. */
const files = ['network', 'wireless'];

type Line = Pick<Wan, 'name' | 'up' | 'hindrance'>;

export const mayCut = (edits: readonly Edit[]): boolean =>
  edits.some(({ config }) => files.includes(config));

/** Reports whether a change makes one of these connections reconnect. */
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

/** Returns the connections that are still down, without removed and switched-off ones. */
export function linesDown(lines: readonly string[], wan: readonly Line[]): string[] {
  const down = wan.filter(({ up, hindrance }) => !up && hindrance !== 'disconnected');
  return lines.filter((line) => down.some(({ name }) => name === line));
}
