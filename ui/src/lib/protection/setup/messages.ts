// SPDX-License-Identifier: GPL-2.0-or-later
import { translator } from '../../i18n/t';
import type en from './en.json';
import type { Place } from './places';

export type MessageKey = keyof typeof en;

export const s = translator<MessageKey>('protection/setup');

/** Returns the label of a place, such as `lan (VLAN 10)`. */
export function placeWords({ zone, vlan }: Place): string {
  if (vlan === '') return zone || s('policy.any');
  return zone ? s('policy.zone.vlan', { zone, vlan }) : s('policy.vlan', { vlan });
}
