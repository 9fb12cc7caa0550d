// SPDX-License-Identifier: GPL-2.0-or-later
/** The CPUs of each role of the plan, as the kernel writes lists: `0-3,8`. */

import type { CpuPlan, CpuRole } from '../api/types';

type Role = CpuRole['role'];

export const roles: readonly Role[] = ['forwarding', 'inspection', 'control', 'shared', 'unused'];

/** The CPUs of a role as the kernel writes lists: `0-3,8`; empty when there are none. */
export function cpusOf(plan: Pick<CpuPlan, 'cpus'>, role: Role): string {
  const mine = plan.cpus.filter((each) => each.role === role).map((each) => each.cpu);
  const runs: [number, number][] = [];
  for (const cpu of mine.sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last?.[1] === cpu - 1) last[1] = cpu;
    else runs.push([cpu, cpu]);
  }
  const words = runs.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`));
  return words.join(',');
}
