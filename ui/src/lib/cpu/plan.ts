// SPDX-License-Identifier: GPL-2.0-or-later

import type { Cpu, CpuPlan } from '../api/types';

export interface Task {
  kind: 'irq' | 'rps' | 'thread' | 'queue' | 'worker' | 'management';
  name: string;
  /** The task runs on a CPU that the plan does not assign. */
  astray: boolean;
}

/** Reports whether a CPU list of the kernel (`0-3,8`) contains the CPU. */
export function has(list: string, cpu: number): boolean {
  return list.split(',').some((run) => {
    const [from = '', to = from] = run.trim().split('-');
    return from !== '' && Number(from) <= cpu && cpu <= Number(to);
  });
}

/** Returns the tasks pinned to a CPU; omits tasks that may run on any CPU. */
export function tasksOn(plan: CpuPlan, cpu: number): Task[] {
  const all = plan.cpus.filter(({ online }) => online).map((each) => each.cpu);
  const anywhere = (list: string) => all.length > 1 && all.every((each) => has(list, each));
  const found: Task[] = [];
  const add = (
    kind: Task['kind'],
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

export function groupsOf(found: readonly Task[]): { kind: Task['kind']; members: Task[] }[] {
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
