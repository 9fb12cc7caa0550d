// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import { translator } from '../i18n/t';
import type en from './en.json';

/** Messages of the screen System. */
export const y = translator<keyof typeof en>('system');

/** Returns the error message of a fault on this screen. */
export function messageFor(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'denied') return y('denied');
  if (fault.kind === 'absent') return y('absent', { text: fault.message });
  return y('failed', { text: fault.message });
}
