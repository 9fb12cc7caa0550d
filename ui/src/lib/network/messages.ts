// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';
import type { Member } from './matrix';

export const n = translator<keyof typeof en>('network');

export const memberWords = (member: Member): string => n(`member.${member || 'none'}`);

/** Signs in the table; a star marks unusual memberships. */
export const signOf = (member: Member): string =>
  ({ '': '–', 'u*': 'U', t: 'T', u: 'U*', 't*': 'T*' })[member];
