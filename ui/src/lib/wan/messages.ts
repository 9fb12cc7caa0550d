// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';

/** Messages of the screen Internet. */
export const w = translator<keyof typeof en>('wan');
