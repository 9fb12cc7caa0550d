// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';

/** The messages of the screen Network. */
export const n = translator<keyof typeof en>('network');
