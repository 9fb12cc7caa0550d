// SPDX-License-Identifier: GPL-2.0-or-later
import { Fault } from '../api/errors';
import { translator } from '../i18n/t';
import type en from './en.json';

export const y = translator<keyof typeof en>('system');

export function messageFor(fault: unknown): string {
  if (!(fault instanceof Fault)) throw fault;
  if (fault.kind === 'denied') return y('denied');
  if (fault.kind === 'absent') return y('absent', { text: fault.message });
  return y('failed', { text: fault.message });
}
