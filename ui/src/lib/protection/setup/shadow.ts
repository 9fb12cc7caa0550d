// SPDX-License-Identifier: GPL-2.0-or-later

import { defaults } from '../../form/defaults';
import { isOn, text, type Section } from '../../form/sections';

const places = ['src', 'dest', 'src_vlan', 'dest_vlan'] as const;

/** Returns a zone or VLAN of a policy; empty for any, which fw4 also writes as `*`. */
const placeOf = (section: Section, option: string) => text(section, option).replace(/^\*$/, '');

export const isUsed = (policy: Section): boolean =>
  isOn(policy, 'enabled', defaults.policy.enabled);

/**
 * Returns for each policy the position, from 1, of an earlier one that matches all its connections;
 * 0 for none.
 */
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
