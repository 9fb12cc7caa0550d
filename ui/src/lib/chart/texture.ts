// SPDX-License-Identifier: GPL-2.0-or-later

import type { LivePath } from '../path/path';

export const TILE = 8;
export const AREA_ALPHA = 0.72;
const LINE_ALPHA = 0.75;
const LINE_WIDTH = 1.4;

/** Lines of each path's tile as SVG paths, so that paths differ without colour. */
export const textures: Record<LivePath, string> = {
  slow: '',
  inspect: 'M2 2h.01M6 6h.01',
  flowtable: 'M-1 1 1-1M0 8 8 0M7 9 9 7',
  hardware: 'M0 2h8M0 6h8',
  ebpf: 'M0 0 8 8M0 8 8 0',
};

/** Returns the side of a tile in device pixels, at least one. */
export function sideOf(pixelRatio: number): number {
  return Math.max(1, Math.round(TILE * pixelRatio));
}

export function tileOf(
  path: LivePath,
  colours: { area: string; lines: string },
  pixelRatio: number,
): HTMLCanvasElement {
  const tile = document.createElement('canvas');
  const side = sideOf(pixelRatio);
  tile.width = side;
  tile.height = side;
  const pen = tile.getContext('2d');
  if (!pen) return tile;
  pen.scale(side / TILE, side / TILE);
  pen.globalAlpha = AREA_ALPHA;
  pen.fillStyle = colours.area;
  pen.fillRect(0, 0, TILE, TILE);
  pen.globalAlpha = LINE_ALPHA;
  pen.strokeStyle = colours.lines;
  pen.lineWidth = LINE_WIDTH;
  pen.lineCap = 'round';
  pen.stroke(new Path2D(textures[path]));
  return tile;
}
