// SPDX-License-Identifier: GPL-2.0-or-later

import type { FlowEvent, HostMove } from '../api/types';

export interface Step {
  at_ms: number;
  event: FlowEvent;
  /** A host moved to another port, which renewed the flow. */
  move?: HostMove;
}

/** Returns paths and moves in order of time; empty if the flow has no path yet. */
export function history(events: FlowEvent[], moves: HostMove[]): Step[] {
  const first = events[0];
  if (!first) return [];
  const path = (at_ms: number) => events.findLast((event) => event.at_ms <= at_ms) ?? first;
  return [
    ...events.map((event): Step => ({ at_ms: event.at_ms, event })),
    ...moves.map((move): Step => ({ at_ms: move.at_ms, event: path(move.at_ms), move })),
  ].sort((a, b) => a.at_ms - b.at_ms);
}
