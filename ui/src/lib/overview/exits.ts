// SPDX-License-Identifier: GPL-2.0-or-later
import type { EbpfExit, EbpfState } from '../api/types';

export type Exit = EbpfExit['exit'];

/** Where a packet goes that leaves a program this way. */
export type End = 'sent' | 'stack' | 'lost';

export const ends: readonly End[] = ['sent', 'stack', 'lost'];

export function endOf(exit: Exit): End {
  if (exit === 'forwarded') return 'sent';
  return exit === 'dropped' || exit === 'no-room' ? 'lost' : 'stack';
}

/** One way out that packets have taken. */
export interface Row {
  exit: Exit;
  packets: number;
  /** Packets per second now. */
  pps: number;
  /** Length of its bar, 0 to 1: what is forwarded would dwarf all others, and has none. */
  bar: number;
}

/** The ways out that were taken, in the order of the schema, so that rows keep their places. */
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
    // Programs that were loaded anew count from nothing.
    pps: seconds > 0 ? Math.max(0, packets - (was.get(exit) ?? packets)) / seconds : 0,
    bar: endOf(exit) === 'sent' ? 0 : packets / most,
  }));
}

/** Shares of all that was seen, 0 to 1. */
export function sharesOf({ seen, exits }: Pick<EbpfState, 'seen' | 'exits'>): Record<End, number> {
  const shares = { sent: 0, stack: 0, lost: 0 };
  for (const { exit, packets } of exits) shares[endOf(exit)] += packets / Math.max(1, seen);
  return shares;
}
