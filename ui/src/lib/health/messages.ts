// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';

export type MessageKey = keyof typeof en;

/** The texts of the screen Health; `findings/text.ts` has those of findings. */
export const h = translator<MessageKey>('health');
