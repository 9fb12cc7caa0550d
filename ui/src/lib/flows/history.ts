// SPDX-License-Identifier: GPL-2.0-or-later
/** The history of a flow: its paths, and the moves of its hosts, each with the path it was on. */

import type { FlowEvent, HostMove } from '../api/types';

export interface Step {
  at_ms: number;
  /** The path from then on. */
  event: FlowEvent;
  /** A host moved, and the flow was renewed. */
  move?: HostMove;
}

/** Both in the order of their time; a flow that has no path yet has no moves either. */
export function history(events: FlowEvent[], moves: HostMove[]): Step[] {
  const first = events[0];
  if (!first) return [];
  const path = (at_ms: number) => events.findLast((event) => event.at_ms <= at_ms) ?? first;
  return [
    ...events.map((event): Step => ({ at_ms: event.at_ms, event })),
    ...moves.map((move): Step => ({ at_ms: move.at_ms, event: path(move.at_ms), move })),
  ].sort((a, b) => a.at_ms - b.at_ms);
}
