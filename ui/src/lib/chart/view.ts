// SPDX-License-Identifier: GPL-2.0-or-later

/** A span in Unix seconds. */
export interface View {
  from: number;
  to: number;
}

const MIN_SAMPLES = 5;

/**
 * Limits a view to the whole span and a minimum length; returns `null` if it covers the whole span.
 */
export function within(view: View, whole: View, step_s: number): View | null {
  const full = whole.to - whole.from;
  const length = Math.max(view.to - view.from, MIN_SAMPLES * step_s);
  if (length >= full) return null;
  const middle = (view.from + view.to) / 2;
  const from = Math.min(Math.max(middle - length / 2, whole.from), whole.to - length);
  return { from, to: from + length };
}

/** Scales the view by `times` around the time `at`. */
export function stretched(view: View, at: number, times: number): View {
  return { from: at - (at - view.from) * times, to: at + (view.to - at) * times };
}

export function shifted({ from, to }: View, share: number): View {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

/** Action of a key. The cursor moves by samples, or to an end of the view. */
export type Act =
  | { kind: 'move'; by: number }
  | { kind: 'end'; newest: boolean }
  | { kind: 'stretch'; times: number }
  | { kind: 'shift'; share: number }
  | { kind: 'reset' };

const acts: Record<string, Act> = {
  ArrowLeft: { kind: 'move', by: -1 },
  ArrowDown: { kind: 'move', by: -1 },
  ArrowRight: { kind: 'move', by: 1 },
  ArrowUp: { kind: 'move', by: 1 },
  PageDown: { kind: 'move', by: -10 },
  PageUp: { kind: 'move', by: 10 },
  Home: { kind: 'end', newest: false },
  End: { kind: 'end', newest: true },
  '+': { kind: 'stretch', times: 1 / 2 },
  '-': { kind: 'stretch', times: 2 },
  Escape: { kind: 'reset' },
};

/** Returns the action of a key; `null` if it has none, and with Ctrl, Alt or Meta. */
export function actOf(
  event: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'ctrlKey' | 'altKey' | 'metaKey'>,
): Act | null {
  if (event.ctrlKey || event.altKey || event.metaKey) return null;
  if (event.shiftKey && event.key === 'ArrowLeft') return { kind: 'shift', share: -1 / 4 };
  if (event.shiftKey && event.key === 'ArrowRight') return { kind: 'shift', share: 1 / 4 };
  return Object.hasOwn(acts, event.key) ? (acts[event.key] ?? null) : null;
}
