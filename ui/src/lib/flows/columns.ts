// SPDX-License-Identifier: GPL-2.0-or-later

import type { MessageKey } from '../i18n/t';
import type { Group } from './query';

export const layouts = ['narrow', 'medium', 'wide'] as const;
export type Layout = (typeof layouts)[number];

export interface Column {
  /** The daemon's sort key; empty if the column cannot be sorted. */
  sort: string;
  label: MessageKey;
  numeric: boolean;
  /** The narrowest layout with this column; `table.css` hides it in narrower ones. */
  from: Layout;
}

const column =
  (numeric: boolean) =>
  (sort: string, label: MessageKey, from: Layout = 'narrow'): Column => ({
    sort,
    label,
    numeric,
    from,
  });
const word = column(false);
const number = column(true);

const flowColumns: readonly Column[] = [
  word('path', 'col.path'),
  word('proto', 'col.proto'),
  word('src', 'col.src'),
  word('dst', 'col.dst'),
  word('', 'col.zones', 'wide'),
  word('reason', 'col.reason', 'medium'),
  number('bps', 'col.bps'),
  number('bytes', 'col.bytes'),
  number('age_s', 'col.age_s', 'medium'),
];

const groupColumns: readonly Column[] = [
  word('key', 'col.key'),
  number('flows', 'col.flows'),
  number('offloaded', 'col.offloaded', 'medium'),
  number('down_bps', 'col.down_bps'),
  number('up_bps', 'col.up_bps'),
  number('bytes', 'col.bytes', 'medium'),
  number('ratio', 'col.ratio', 'medium'),
];

export function columnsFor(group: Group): readonly Column[] {
  return group === '' ? flowColumns : groupColumns;
}

/** Returns the columns of a layout with their positions among all columns, from 1. */
export function columnsIn(group: Group, layout: Layout): { column: Column; place: number }[] {
  return columnsFor(group)
    .map((column, i) => ({ column, place: i + 1 }))
    .filter(({ column }) => layouts.indexOf(column.from) <= layouts.indexOf(layout));
}
