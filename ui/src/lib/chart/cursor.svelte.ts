// SPDX-License-Identifier: GPL-2.0-or-later
/** The sample that is pointed at, the zoomed view, and the samples that stay in place meanwhile. */

import type { Sample } from '../live/ring';
import { spans, type Span } from './series.svelte';
import { shifted, stretched, within, type Act, type View } from './view';

/** Cursor and zoom of one chart, moved by pointer and keys alike. */
export class Cursor {
  /** The place of the sample in `samples`; null when none is pointed at. */
  index = $state<number | null>(null);
  zoom = $state.raw<View | null>(null);
  /** Nothing moves under the cursor: new samples are shown when it has gone. */
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

  /** The whole span, up to the newest sample. */
  get whole(): View {
    const to = (this.samples.at(-1)?.at_ms ?? Date.now()) / 1000;
    return { from: to - spans[this.span()].length_s, to };
  }

  get view(): View {
    return this.zoom ?? this.whole;
  }

  /** The pointer is over a sample; the chart goes on. */
  point(index: number | null): void {
    this.index = index;
    if (index === null && !this.zoom) this.held = null;
  }

  /** The sample that was pointed at stays. */
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

  /** Does what a key says; false when there was nothing to do. */
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

  /** Where zooming keeps the chart in place: the cursor if it is seen. */
  private middle(): number {
    const { from, to } = this.view;
    const at = this.index === null ? 0 : (this.samples[this.index]?.at_ms ?? 0) / 1000;
    return at >= from && at <= to ? at : (from + to) / 2;
  }
}
