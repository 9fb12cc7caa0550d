// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import en from './en.json';

export type WordKey = keyof typeof en;

/** The words about eBPF programs, which come with the screen. */
export const e = translator<Record<WordKey, string>>({ en });
