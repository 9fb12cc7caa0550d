// SPDX-License-Identifier: GPL-2.0-or-later
/** Which policies never apply, because one before them takes all their connections. */

import { defaults } from '../../form/defaults';
import { isOn, text, type Section } from '../../form/sections';

const places = ['src', 'dest', 'src_vlan', 'dest_vlan'] as const;

/** A zone or VLAN of a policy; empty: any, which fw4 spells `*` for zones. */
const placeOf = (section: Section, option: string) => text(section, option).replace(/^\*$/, '');

/** Whether a policy applies. */
export const isUsed = (policy: Section): boolean =>
  isOn(policy, 'enabled', defaults.policy.enabled);

/** For each policy the place of one before it that takes all its connections, from 1; 0: none. */
export function hiddenBy(policies: readonly Section[]): number[] {
  const covers = (earlier: Section, later: Section) =>
    places.every((option) => {
      const wanted = placeOf(earlier, option);
      return wanted === '' || wanted === placeOf(later, option);
    });
  return policies.map((later, i) => {
    const before = policies.slice(0, i);
    return isUsed(later) ? 1 + before.findIndex((each) => isUsed(each) && covers(each, later)) : 0;
  });
}
