// SPDX-License-Identifier: GPL-2.0-or-later
import type { MessageKey } from '../i18n/t';
import type { Group } from './query';

export interface Column {
  /** The daemon's name to sort by; empty: not sortable. */
  sort: string;
  label: MessageKey;
  numeric: boolean;
}

const word = (sort: string, label: MessageKey): Column => ({ sort, label, numeric: false });
const number = (sort: string, label: MessageKey): Column => ({ sort, label, numeric: true });

const flowColumns: readonly Column[] = [
  word('path', 'col.path'),
  word('proto', 'col.proto'),
  word('src', 'col.src'),
  word('dst', 'col.dst'),
  word('', 'col.zones'),
  word('reason', 'col.reason'),
  number('bps', 'col.bps'),
  number('bytes', 'col.bytes'),
  number('age_s', 'col.age_s'),
];

const groupColumns: readonly Column[] = [
  word('key', 'col.key'),
  number('flows', 'col.flows'),
  number('offloaded', 'col.offloaded'),
  number('down_bps', 'col.down_bps'),
  number('up_bps', 'col.up_bps'),
  number('bytes', 'col.bytes'),
  number('ratio', 'col.ratio'),
];

export function columnsFor(group: Group): readonly Column[] {
  return group === '' ? flowColumns : groupColumns;
}
