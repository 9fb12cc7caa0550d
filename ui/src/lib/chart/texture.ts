// SPDX-License-Identifier: GPL-2.0-or-later
/** Lines over the areas of a chart, so that colour is never the only difference. */

import type { Path } from '../api/types';

/** Side of a tile, in pixels. */
export const TILE = 8;

/** The lines in a tile: none, dots, slanted, level and crossing ones. */
export const textures: Record<Path, string> = {
  slow: '',
  inspect: 'M2 2h.01M6 6h.01',
  flowtable: 'M-1 1 1-1M0 8 8 0M7 9 9 7',
  hardware: 'M0 2h8M0 6h8',
  ebpf: 'M0 0 8 8M0 8 8 0',
};
