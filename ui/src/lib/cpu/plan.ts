// SPDX-License-Identifier: GPL-2.0-or-later
/** The work on each CPU, deviations from the plan, and the parts of a CPU's load. */

import type { Cpu, CpuPlan } from '../api/types';

/** A task on a CPU, as the drawing names it. */
export interface Resident {
  kind: 'irq' | 'rps' | 'thread' | 'queue' | 'worker' | 'management';
  /** Name of the interrupt, queue, thread or program. */
  name: string;
  /** The plan assigns another CPU. */
  astray: boolean;
}

/** Reports whether a CPU list of the kernel (`0-3,8`) contains this CPU. */
export function has(list: string, cpu: number): boolean {
  return list.split(',').some((run) => {
    const [from = '', to = from] = run.trim().split('-');
    return from !== '' && Number(from) <= cpu && cpu <= Number(to);
  });
}

/** Returns the work that runs on a CPU now, without work that may run on any CPU. */
export function residents(plan: CpuPlan, cpu: number): Resident[] {
  const all = plan.cpus.filter(({ online }) => online).map((each) => each.cpu);
  const anywhere = (list: string) => all.length > 1 && all.every((each) => has(list, each));
  const found: Resident[] = [];
  const add = (
    kind: Resident['kind'],
    name: string,
    { have, wanted }: { have: string; wanted?: string | undefined },
  ) => {
    const astray = wanted !== undefined && !has(wanted, cpu);
    if (has(have, cpu) && !anywhere(have)) found.push({ kind, name, astray });
  };
  for (const { device, irqs, rps, threads } of plan.devices) {
    for (const each of irqs)
      add('irq', each.name.includes(device) ? each.name : `${device} ${each.name}`, each);
    for (const each of rps) add('rps', `${device} ${each.queue}`, each);
    for (const each of threads) add('thread', each.name, each);
  }
  for (const each of plan.queues) {
    if (each.cpu === cpu) found.push({ kind: 'queue', name: String(each.queue), astray: false });
  }
  const { pinned, workers, management } = plan.suricata;
  if (pinned && has(workers, cpu)) found.push({ kind: 'worker', name: 'Suricata', astray: false });
  if (pinned && has(management, cpu)) {
    found.push({ kind: 'management', name: 'Suricata', astray: false });
  }
  return found;
}

export function groupsOf(
  found: readonly Resident[],
): { kind: Resident['kind']; members: Resident[] }[] {
  const kinds = [...new Set(found.map(({ kind }) => kind))];
  return kinds.map((kind) => ({ kind, members: found.filter((each) => each.kind === kind) }));
}

/** Splits a CPU's busy time into softirq, programs and the rest of the kernel. */
export function shares({ busy, softirq, user }: Cpu): { part: Part; share: number }[] {
  const system = Math.max(0, busy - softirq - user);
  return [
    { part: 'softirq', share: softirq },
    { part: 'user', share: user },
    { part: 'system', share: system },
  ];
}

type Part = 'softirq' | 'user' | 'system';
