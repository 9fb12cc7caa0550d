// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../../i18n/t';
import type en from './en.json';

export type MessageKey = keyof typeof en;

/** The messages of policy and rules. */
export const s = translator<MessageKey>('protection/setup');
