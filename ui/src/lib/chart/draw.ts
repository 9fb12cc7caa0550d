// SPDX-License-Identifier: GPL-2.0-or-later
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clock } from '../format/time';
import { axisRate, text } from '../format/units';
import { SPAN_MS } from '../live/ring';
import type { Stack } from './stack';

/** Colours as the browser computed them: a canvas cannot read custom properties. */
export interface Colours {
  /** One for each row of the stack, bottom first. */
  series: string[];
  grid: string;
  text: string;
  font: string;
}

export interface StackChart {
  update(stack: Stack): void;
  resize(width: number, height: number): void;
  destroy(): void;
}

/** A small line's axis should not show its noise full size. */
const SMALLEST_TOP = 1e6;

/** Draws a stacked area chart of the last five minutes into `target`. */
export function drawStack(
  target: HTMLElement,
  size: { width: number; height: number },
  colours: Colours,
  first: Stack,
  onHover: (index: number | null) => void,
): StackChart {
  const rows = colours.series.length;
  const axis = {
    stroke: colours.text,
    font: `12px ${colours.font}`,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
  };
  const options: uPlot.Options = {
    ...size,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true, range: (_, __, max) => [max - SPAN_MS / 1000, max] },
      y: { range: (_, __, max) => [0, Math.max(SMALLEST_TOP, (max || 0) * 1.08)] },
    },
    axes: [
      {
        ...axis,
        size: 26,
        space: 80,
        values: (_, ticks) => ticks.map((s) => clock(s * 1000).slice(0, 5)),
      },
      {
        ...axis,
        size: 72,
        space: 40,
        values: (_, ticks) => ticks.map((bps) => text(axisRate(bps))),
      },
    ],
    series: [
      {},
      ...colours.series.map((colour) => ({
        stroke: colour,
        fill: translucent(colour),
        width: 1,
        points: { show: false },
      })),
    ],
    // Each area ends at the one below it; the lowest at zero.
    bands: Array.from({ length: rows - 1 }, (_, i) => ({ series: [i + 2, i + 1] })),
    hooks: { setCursor: [(plot) => onHover(plot.cursor.idx ?? null)] },
  };
  const plot = new uPlot(options, first as uPlot.AlignedData, target);
  return {
    update: (stack) => plot.setData(stack as uPlot.AlignedData),
    resize: (width, height) => plot.setSize({ width, height }),
    destroy: () => plot.destroy(),
  };
}

/** `rgb(…)` as computed, with the fill's opacity. */
function translucent(colour: string): string {
  return colour.replace(/^rgb\((.+)\)$/, 'rgba($1, 0.72)');
}
