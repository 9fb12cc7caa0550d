// SPDX-License-Identifier: GPL-2.0-or-later

import type { Wan } from '../api/types';
import type { Edit } from './sections';

const files = ['network', 'wireless'];

type Line = Pick<Wan, 'name' | 'up' | 'hindrance'>;

export const mayDisconnect = (edits: readonly Edit[]): boolean =>
  edits.some(({ config }) => files.includes(config));

/** Reports whether a change makes one of these WANs reconnect. */
export const reconnects = (edits: readonly Edit[], lines: readonly string[]): boolean =>
  edits.some(
    (each) =>
      each.config === 'network' &&
      'section' in each &&
      !!each.section &&
      lines.includes(each.section),
  );

export const linesUp = (wan: readonly Line[]): string[] =>
  wan.filter(({ up }) => up).map(({ name }) => name);

/** Returns the WANs that are still down, except removed and disconnected ones. */
export function linesDown(lines: readonly string[], wan: readonly Line[]): string[] {
  const down = wan.filter(({ up, hindrance }) => !up && hindrance !== 'disconnected');
  return lines.filter((line) => down.some(({ name }) => name === line));
}
