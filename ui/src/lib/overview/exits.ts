// SPDX-License-Identifier: GPL-2.0-or-later

import type { EbpfExit, EbpfState } from '../api/types';

export type Exit = EbpfExit['exit'];

export type End = 'sent' | 'stack' | 'lost';

export const ends: readonly End[] = ['sent', 'stack', 'lost'];

export function endOf(exit: Exit): End {
  if (exit === 'forwarded') return 'sent';
  return exit === 'dropped' || exit === 'no-room' ? 'lost' : 'stack';
}

export interface Row {
  exit: Exit;
  packets: number;
  /** Packets per second. */
  pps: number;
  /**
   * Length of the bar, 0 to 1. Forwarded packets have none, because they would dwarf the others.
   */
  bar: number;
}

/**
 * Returns the verdicts with packets, in the order of the schema, so that rows keep their places.
 */
export function rowsOf(
  exits: readonly EbpfExit[],
  before: readonly EbpfExit[] = [],
  seconds = 0,
): Row[] {
  const was = new Map(before.map((each) => [each.exit, each.packets]));
  const taken = exits.filter((each) => each.packets > 0);
  const others = taken.filter((each) => endOf(each.exit) !== 'sent');
  const most = Math.max(1, ...others.map((each) => each.packets));
  return taken.map(({ exit, packets }) => ({
    exit,
    packets,
    // Reloaded programs count from zero, which would give a negative rate.
    pps: seconds > 0 ? Math.max(0, packets - (was.get(exit) ?? packets)) / seconds : 0,
    bar: endOf(exit) === 'sent' ? 0 : packets / most,
  }));
}

/** Returns the share of each destination among all packets seen, 0 to 1. */
export function sharesOf({ seen, exits }: Pick<EbpfState, 'seen' | 'exits'>): Record<End, number> {
  const shares = { sent: 0, stack: 0, lost: 0 };
  for (const { exit, packets } of exits) shares[endOf(exit)] += packets / Math.max(1, seen);
  return shares;
}
