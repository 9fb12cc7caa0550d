// SPDX-License-Identifier: GPL-2.0-or-later

import type { Engine, Inspection, Path, Paths, Reason, Status } from '../api/types';
import { t } from '../i18n/t';

/** A path with rates and bytes, so not `ended`. */
export type LivePath = keyof Paths;

/** Best first, as in legends, bars and stacks. */
export const paths: readonly LivePath[] = ['hardware', 'ebpf', 'flowtable', 'inspect', 'slow'];

export function isPath(word: string): word is Path {
  return word === 'ended' || (paths as readonly string[]).includes(word);
}

/** A path, or `local` for flows that are not forwarded. */
export type PathClass = Path | 'local';

/** Kinds of flows that no path includes; hidden by default. */
export const asides = ['local', 'ended'] as const;
export type Aside = (typeof asides)[number];

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

/**
 * Returns why the inspection of a flow has ended; empty if it has not, or if the flow was never
 * inspected.
 */
export function inspectionText(inspection: Inspection): string {
  const over = inspection === 'bypassed' || inspection === 'spent';
  return over ? t(`inspection.${inspection}.why`) : '';
}

/** Explains the path, and for a slow forwarded flow the reason. */
export function explain(path: Path, reason: Reason): string {
  if (isLocal(reason)) return reasonWords(reason);
  return reason === '' ? pathWords(path) : `${pathWords(path)} ${reasonWords(reason)}`;
}

function pathOf(engine: Engine): LivePath {
  if (engine === 'flowtable-hw') return 'hardware';
  return engine === 'off' ? 'slow' : engine;
}

/** Returns slow, flowtable, the engine's path and all paths with traffic. */
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
