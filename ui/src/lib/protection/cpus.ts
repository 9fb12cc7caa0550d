// SPDX-License-Identifier: GPL-2.0-or-later

import type { CpuPlan, CpuRole } from '../api/types';

type Role = CpuRole['role'];

export const roles: readonly Role[] = ['forwarding', 'inspection', 'control', 'shared', 'unused'];

/** Returns the CPUs of a role in the kernel's notation, `0-3,8`; empty if there are none. */
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
