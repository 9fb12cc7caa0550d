// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';

export const c = translator<keyof typeof en>('chart');
