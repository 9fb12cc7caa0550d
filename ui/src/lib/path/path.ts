// SPDX-License-Identifier: GPL-2.0-or-later
/** Order, names and texts of paths, reasons and inspection. */

import type { Engine, Inspection, Path, Paths, Reason, Status } from '../api/types';
import { t } from '../i18n/t';

/** A path of packets with rates and bytes, unlike `ended`. */
export type LivePath = keyof Paths;

/** Paths of packets, best first: the order in legends, bars and stacks. */
export const paths: readonly LivePath[] = ['hardware', 'ebpf', 'flowtable', 'inspect', 'slow'];

export function isPath(word: string): word is Path {
  return word === 'ended' || (paths as readonly string[]).includes(word);
}

/** A path, or `local` for flows that are not forwarded. */
export type PathClass = Path | 'local';

/** Kinds of flows that no figure of a path includes; hidden by default. */
export const asides = ['local', 'ended'] as const;
export type Aside = (typeof asides)[number];

/** Returns the number of flows that the figures of paths exclude, by kind. */
export function asideFlows(status: Pick<Status, 'local_flows' | 'ended_flows'>) {
  return { local: status.local_flows, ended: status.ended_flows };
}

export function isLocal(reason: Reason): boolean {
  return reason === 'local' || reason === 'multicast';
}

export function classOf({ path, reason }: { path: Path; reason: Reason }): PathClass {
  return isLocal(reason) ? 'local' : path;
}

export function pathName(path: PathClass): string {
  return t(`path.${path}`);
}

export function pathWords(path: PathClass): string {
  return t(`path.${path}.why`);
}

export function reasonName(reason: Reason): string {
  return t(`reason.${reason}`);
}

export function reasonWords(reason: Reason): string {
  return t(`reason.${reason}.why`);
}

export function inspectionName(inspection: Inspection): string {
  return t(`inspection.${inspection}`);
}

/** Returns why a flow is no longer inspected; empty if it is inspected or never was. */
export function inspectionText(inspection: Inspection): string {
  const over = inspection === 'bypassed' || inspection === 'spent';
  return over ? t(`inspection.${inspection}.why`) : '';
}

/** Explains the path, and why a forwarded flow is slow. */
export function explain(path: Path, reason: Reason): string {
  if (isLocal(reason)) return reasonWords(reason);
  return reason === '' ? pathWords(path) : `${pathWords(path)} ${reasonWords(reason)}`;
}

/** Returns the path of the engine in force; `slow` if it is off. */
function pathOf(engine: Engine): LivePath {
  if (engine === 'flowtable-hw') return 'hardware';
  return engine === 'off' ? 'slow' : engine;
}

/** Returns the paths to show: the usual ones, the engine's path and paths that carry traffic. */
export function shownPaths(totals: Paths, engine: Engine): LivePath[] {
  const always: readonly LivePath[] = ['flowtable', 'slow', pathOf(engine)];
  return paths.filter(
    (path) => always.includes(path) || totals[path].flows > 0 || totals[path].bytes > 0,
  );
}

export function sumOf(totals: Paths, figure: keyof Paths['slow']): number {
  return paths.reduce((sum, path) => sum + totals[path][figure], 0);
}

export function offloadedFlows(totals: Paths): number {
  return totals.flowtable.flows + totals.hardware.flows + totals.ebpf.flows;
}
