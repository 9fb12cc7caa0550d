// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../i18n/t';
import type en from './en.json';
import type { Member } from './matrix';

/** The messages of the screen Network. */
export const n = translator<keyof typeof en>('network');

/** The name of a membership. */
export const memberWords = (member: Member): string => n(`member.${member || 'none'}`);

/** The sign of a membership in the table; with a star where it is not the usual one of its kind. */
export const signOf = (member: Member): string =>
  ({ '': '–', 'u*': 'U', t: 'T', u: 'U*', 't*': 'T*' })[member];
