// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';
import type { Member } from './matrix';

/** Messages of the screen Network. */
export const n = translator<keyof typeof en>('network');

export const memberWords = (member: Member): string => n(`member.${member || 'none'}`);

/** Signs of memberships in the table; a star marks the unusual variant. */
export const signOf = (member: Member): string =>
  ({ '': '–', 'u*': 'U', t: 'T', u: 'U*', 't*': 'T*' })[member];
