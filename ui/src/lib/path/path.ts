// SPDX-License-Identifier: GPL-2.0-or-later
/** Order, names and texts of paths, reasons and inspection; which paths an engine has; sums. */

import type { Engine, Inspection, Path, Paths, Reason, Status } from '../api/types';
import { t } from '../i18n/t';

/** A path of packets: the ones with rates, bytes and a share. */
export type LivePath = keyof Paths;

/** Every path of packets, best first: the order of legends, bars and stacks everywhere. */
export const paths: readonly LivePath[] = ['hardware', 'ebpf', 'flowtable', 'inspect', 'slow'];

export function isPath(word: string): word is Path {
  return word === 'ended' || (paths as readonly string[]).includes(word);
}

/** A path, or `local` for a flow that is not forwarded: to or from the router, or multicast. */
export type PathClass = Path | 'local';

/** Flows that are in no figure of a path, and hidden by default. */
export const asides = ['local', 'ended'] as const;
export type Aside = (typeof asides)[number];

/** How many flows of each kind are left out of the figures of paths. */
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

/** Why a flow is not inspected any more; empty where it is, or never was. */
export function inspectionText(inspection: Inspection): string {
  const over = inspection === 'bypassed' || inspection === 'spent';
  return over ? t(`inspection.${inspection}.why`) : '';
}

/** A sentence for the path, and one more for the reason why a forwarded flow is slow. */
export function explain(path: Path, reason: Reason): string {
  if (isLocal(reason)) return reasonWords(reason);
  return reason === '' ? pathWords(path) : `${pathWords(path)} ${reasonWords(reason)}`;
}

/** The path that the engine in force leads to; `slow` without one. */
function pathOf(engine: Engine): LivePath {
  if (engine === 'flowtable-hw') return 'hardware';
  return engine === 'off' ? 'slow' : engine;
}

/** The paths a router can have, plus those that carry something: others are left out of legends. */
export function shownPaths(totals: Paths, engine: Engine): LivePath[] {
  const always: readonly LivePath[] = ['flowtable', 'slow', pathOf(engine)];
  return paths.filter(
    (path) => always.includes(path) || totals[path].flows > 0 || totals[path].bytes > 0,
  );
}

/** Sums one figure over all paths. */
export function sumOf(totals: Paths, figure: keyof Paths['slow']): number {
  return paths.reduce((sum, path) => sum + totals[path][figure], 0);
}

export function offloadedFlows(totals: Paths): number {
  return totals.flowtable.flows + totals.hardware.flows + totals.ebpf.flows;
}
