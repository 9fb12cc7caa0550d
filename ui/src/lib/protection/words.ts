// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import en from './en.json';

export type WordKey = keyof typeof en;

/** The words of this screen, which come with it. */
export const w = translator<Record<WordKey, (typeof en)[WordKey]>>({ en });
