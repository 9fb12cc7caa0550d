// SPDX-License-Identifier: GPL-2.0-or-later
/** Verdicts of eBPF programs: their meaning, rates, bars and shares. */

import type { EbpfExit, EbpfState } from '../api/types';

export type Exit = EbpfExit['exit'];

/** Destination of a packet after the verdict. */
export type End = 'sent' | 'stack' | 'lost';

export const ends: readonly End[] = ['sent', 'stack', 'lost'];

export function endOf(exit: Exit): End {
  if (exit === 'forwarded') return 'sent';
  return exit === 'dropped' || exit === 'no-room' ? 'lost' : 'stack';
}

/** A verdict of packets. */
export interface Row {
  exit: Exit;
  packets: number;
  /** Present rate in packets per second. */
  pps: number;
  /** Length of the bar, 0 to 1. Forwarded packets would dwarf the others, so they have no bar. */
  bar: number;
}

/** Returns the verdicts with packets. The order of the schema keeps rows in their places. */
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
    // Reloaded programs count from zero, which would make the rate negative.
    pps: seconds > 0 ? Math.max(0, packets - (was.get(exit) ?? packets)) / seconds : 0,
    bar: endOf(exit) === 'sent' ? 0 : packets / most,
  }));
}

/** Returns the shares of all packets seen, 0 to 1. */
export function sharesOf({ seen, exits }: Pick<EbpfState, 'seen' | 'exits'>): Record<End, number> {
  const shares = { sent: 0, stack: 0, lost: 0 };
  for (const { exit, packets } of exits) shares[endOf(exit)] += packets / Math.max(1, seen);
  return shares;
}
