// SPDX-License-Identifier: GPL-2.0-or-later
/** Cursor and zoom of one chart. Holds the samples while either is in use. */

import type { Sample } from '../live/ring';
import { spans, type Span } from './series.svelte';
import { shifted, stretched, within, type Act, type View } from './view';

export class Cursor {
  /** Index in `samples`; `null` without a cursor. */
  index = $state<number | null>(null);
  zoom = $state.raw<View | null>(null);
  /**
   * Held samples, so that nothing moves under the cursor; `null` while the chart follows new
   * samples.
   */
  private held = $state.raw<readonly Sample[] | null>(null);

  constructor(
    private readonly newest: () => readonly Sample[],
    private readonly span: () => Span,
  ) {}

  get samples(): readonly Sample[] {
    return this.held ?? this.newest();
  }

  get shown(): Sample | undefined {
    return this.samples[this.index ?? this.samples.length - 1];
  }

  get whole(): View {
    const to = (this.samples.at(-1)?.at_ms ?? Date.now()) / 1000;
    return { from: to - spans[this.span()].length_s, to };
  }

  get view(): View {
    return this.zoom ?? this.whole;
  }

  /** Points at a sample without holding the samples. */
  point(index: number | null): void {
    this.index = index;
    if (index === null && !this.zoom) this.held = null;
  }

  /** Holds the samples, so that the cursor stays at its sample. */
  hold(): void {
    if (this.index !== null) this.held ??= this.newest();
  }

  select(view: View): void {
    if (this.samples.length === 0) return;
    this.held ??= this.newest();
    this.zoom = within(view, this.whole, spans[this.span()].step_s);
    if (!this.zoom && this.index === null) this.held = null;
  }

  reset(): void {
    this.index = null;
    this.zoom = null;
    this.held = null;
  }

  act(act: Act): boolean {
    switch (act.kind) {
      case 'move':
        return this.move((this.index ?? this.lastSeen()) + act.by);
      case 'end':
        return this.move(act.newest ? this.lastSeen() : this.firstSeen());
      case 'stretch':
        if (this.samples.length === 0) return false;
        this.select(stretched(this.view, this.middle(), act.times));
        return true;
      case 'shift':
        if (!this.zoom) return false;
        this.select(shifted(this.view, act.share));
        return true;
      case 'reset':
        if (!this.zoom && this.index === null) return false;
        this.reset();
        return true;
    }
  }

  private move(to: number): boolean {
    if (this.samples.length === 0) return false;
    this.held ??= this.newest();
    this.index = Math.min(Math.max(to, this.firstSeen()), this.lastSeen());
    return true;
  }

  private firstSeen(): number {
    const first = this.samples.findIndex(({ at_ms }) => at_ms >= this.view.from * 1000);
    return first < 0 ? this.samples.length - 1 : first;
  }

  private lastSeen(): number {
    const last = this.samples.findLastIndex(({ at_ms }) => at_ms <= this.view.to * 1000);
    return Math.max(last, 0);
  }

  /** Returns the fixed point of a zoom: the cursor if it is in view, else the middle. */
  private middle(): number {
    const { from, to } = this.view;
    const at = this.index === null ? 0 : (this.samples[this.index]?.at_ms ?? 0) / 1000;
    return at >= from && at <= to ? at : (from + to) / 2;
  }
}
