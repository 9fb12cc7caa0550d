// SPDX-License-Identifier: GPL-2.0-or-later
/** Which policies never apply, because one before them takes all their connections. */

import type { Section } from '../../form/sections';
import { isOn, placeOf } from './options';

const places = ['src', 'dest', 'src_vlan', 'dest_vlan'] as const;

/** For each policy the place of one before it that takes all its connections, from 1; 0: none. */
export function hiddenBy(policies: readonly Section[]): number[] {
  const on = (section: Section) => isOn('policy', section);
  const covers = (earlier: Section, later: Section) =>
    places.every((option) => {
      const wanted = placeOf(earlier, option);
      return wanted === '' || wanted === placeOf(later, option);
    });
  return policies.map((later, i) =>
    on(later) ? 1 + policies.slice(0, i).findIndex((each) => on(each) && covers(each, later)) : 0,
  );
}
