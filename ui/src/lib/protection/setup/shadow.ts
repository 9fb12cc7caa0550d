// SPDX-License-Identifier: GPL-2.0-or-later
import type { Section } from '../../uci/sections';

const places = ['src', 'dest', 'src_vlan', 'dest_vlan'] as const;

function place(section: Section, option: string): string {
  const value = section.options[option];
  return typeof value === 'string' && value !== '*' ? value : '';
}

/** For each policy the place of one before it that takes all its connections, from 1; 0: none. */
export function hiddenBy(policies: readonly Section[]): number[] {
  const on = (section: Section) => section.options['enabled'] !== '0';
  const covers = (earlier: Section, later: Section) =>
    places.every((option) => {
      const wanted = place(earlier, option);
      return wanted === '' || wanted === place(later, option);
    });
  return policies.map((later, i) =>
    on(later) ? 1 + policies.slice(0, i).findIndex((each) => on(each) && covers(each, later)) : 0,
  );
}
