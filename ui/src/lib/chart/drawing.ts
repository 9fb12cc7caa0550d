// SPDX-License-Identifier: GPL-2.0-or-later

import type uPlot from 'uplot';
import type { LivePath } from '../path/path';
import { axisRate, text } from '../format/units';
import { outline, spans, topOf } from './area';
import { timeMarks } from './marks';
import { tileOf } from './texture';
import type { View } from './view';

/** Colours and font of the page, resolved for a canvas. */
export interface Look {
  ink: string;
  line: string;
  surface: string;
  areas: Record<string, string>;
  font: string;
  /** Pixels per rem, because labels grow with the browser's font size. */
  rem: number;
}

export interface Wanted {
  used: readonly LivePath[];
  look: () => Look;
  newest: () => number;
  /** Periods without a record. */
  gaps: () => readonly View[];
  /** Times of events, Unix seconds. */
  marks: () => readonly number[];
  onselect: (view: View) => void;
  onreset: () => void;
}

/**
 * Reads the colours of elements with `data-colour`, because a canvas does not resolve CSS
 * variables.
 */
export function lookOf(figure: HTMLElement): Look {
  const colours: Record<string, string> = {};
  for (const probe of figure.querySelectorAll<HTMLElement>('[data-colour]')) {
    colours[probe.dataset['colour'] ?? ''] = getComputedStyle(probe).color;
  }
  const { ink = '', line = '', surface = '', ...areas } = colours;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { ink, line, surface, areas, rem, font: getComputedStyle(figure).fontFamily };
}

const EDGE = 8;
/** Space to the right of the newest sample in rem: half of a label with a date. */
const HALF_LABEL = 1.5;
/** Minimum distance of two marks in pixels, at a font size of 16 px. */
const MIN_ROW_SPACING = 40;
const MIN_TIME_SPACING = 80;
const MIN_DRAG = 6;

export function optionsOf(wanted: Wanted, size: { width: number; height: number }): uPlot.Options {
  const { used, look, onselect, onreset } = wanted;
  const fills = new Map<string, CanvasPattern | null>();
  return {
    ...size,
    padding: [EDGE, HALF_LABEL * look().rem, 0, 0],
    legend: { show: false },
    scales: { y: { range: (_, __, highest) => [0, topOf(highest)] } },
    axes: [timeAxis(wanted), rateAxis(look)],
    series: [{}, ...used.map((path) => area(path, wanted, fills))],
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: false, dist: MIN_DRAG },
      bind: {
        dblclick: () => () => {
          onreset();
          return null;
        },
      },
    },
    hooks: {
      drawClear: [(plot) => hatch(plot, wanted)],
      draw: [(plot) => mark(plot, wanted)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < MIN_DRAG) return;
          const view = { from: plot.posToVal(left, 'x'), to: plot.posToVal(left + width, 'x') };
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onselect(view);
        },
      ],
    },
  };
}

function axis(look: () => Look): uPlot.Axis {
  const { rem, font } = look();
  return {
    stroke: () => look().ink,
    // uPlot accepts only integer font sizes.
    font: `${Math.round(0.75 * rem)}px ${font}`,
    grid: { stroke: () => look().line, width: 1 },
    ticks: { show: false },
    gap: 0.375 * rem,
  };
}

function timeAxis({ look, newest }: Wanted): uPlot.Axis {
  const { rem } = look();
  return {
    ...axis(look),
    space: (MIN_TIME_SPACING * rem) / 16,
    values: (_, marks, __, ___, step) => timeMarks(marks, step, newest()),
    size: (_, shown) => (shown?.some((each) => each.includes('\n')) ? 2.75 : 1.625) * rem,
  };
}

function rateAxis(look: () => Look): uPlot.Axis {
  const { rem } = look();
  return {
    ...axis(look),
    space: (MIN_ROW_SPACING * rem) / 16,
    values: (_, marks) => marks.map((value) => text(axisRate(value))),
    size: 4.5 * rem,
  };
}

function area(
  path: LivePath,
  { look, gaps }: Wanted,
  fills: Map<string, CanvasPattern | null>,
): uPlot.Series {
  const colour = () => look().areas[path] ?? '';
  return {
    stroke: colour,
    width: 1,
    fill: ({ ctx }) => {
      const lines = look().surface;
      const key = [path, colour(), lines, devicePixelRatio].join();
      if (!fills.has(key)) {
        const tile = tileOf(path, { area: colour(), lines }, devicePixelRatio);
        fills.set(key, ctx.createPattern(tile, 'repeat'));
      }
      return fills.get(key) ?? colour();
    },
    points: { show: false },
    paths: (plot, row, first, last) => {
      const shape = shapeOf(plot, row, [first, last], gaps());
      return { stroke: shape, fill: shape, flags: 0 };
    },
  };
}

/**
 * Outlines a row only where it has height, because its edge would look like an idle path's line.
 */
function shapeOf(
  plot: uPlot,
  number: number,
  [first, last]: [number, number],
  gaps: readonly View[],
): Path2D {
  const shape = new Path2D();
  const [times, ...rows] = plot.data;
  const row = rows[number - 1] ?? [];
  const below = rows[number - 2] ?? null;
  const place = {
    x: (at: number) => plot.valToPos(at, 'x', true),
    y: (value: number) => plot.valToPos(value, 'y', true),
  };
  const apart = (i: number) =>
    gaps.some(
      ({ from, to }) => (times[i] ?? Infinity) <= from && to <= (times[i + 1] ?? -Infinity),
    );
  for (const span of spans(row, below, first, last, apart)) {
    outline(shape, { times, row, below, ...place }, span);
  }
  return shape;
}

const HATCH_SPACING = 8;

/** Hatches the periods without a record. */
function hatch(plot: uPlot, { look, gaps }: Wanted): void {
  const { ctx, bbox } = plot;
  const { left, top, width, height } = bbox;
  const inside = (at: number) =>
    Math.min(Math.max(plot.valToPos(at, 'x', true), left), left + width);
  const shape = new Path2D();
  for (const { from, to } of gaps()) {
    const begin = inside(from);
    shape.rect(begin, top, inside(to) - begin, height);
  }
  ctx.save();
  ctx.clip(shape);
  ctx.strokeStyle = look().line;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  const step = HATCH_SPACING * devicePixelRatio;
  for (let x = left - height; x < left + width; x += step) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

/** Draws a line with a head at each event. */
function mark(plot: uPlot, { look, marks }: Wanted): void {
  const { ctx, bbox } = plot;
  const { left, top, width, height } = bbox;
  const head = 4 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = look().ink;
  ctx.lineWidth = devicePixelRatio;
  for (const at of marks()) {
    const x = plot.valToPos(at, 'x', true);
    if (x < left || x > left + width) continue;
    ctx.globalAlpha = 0.5;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.fill(new Path2D(`M${x - head} ${top}h${2 * head}l${-head} ${head}z`));
  }
  ctx.restore();
}
