// SPDX-License-Identifier: GPL-2.0-or-later
import { expect, it } from 'vitest';
import type { CpuPlan } from '../api/types';
import { groupsOf, has, shares, tasksOn } from './plan';

const role = (cpu: number) => ({
  cpu,
  role: 'forwarding' as const,
  online: true,
  isolated: false,
  capacity: 1024,
  core: cpu,
});

const plan: CpuPlan = {
  enabled: true,
  active: true,
  why: '',
  cause: { code: '', params: {} },
  profile: 'auto',
  cpus: [0, 1, 2].map(role),
  queues: [{ queue: 0, cpu: 1 }],
  suricata: { pinned: true, management: '2', workers: '1' },
  devices: [
    {
      device: 'lan1',
      carries: [],
      irqs: [
        { irq: 24, name: 'lan1-input.0', wanted: '0', have: '0' },
        { irq: 25, name: 'virtio-output', wanted: '0', have: '1' },
        { irq: 26, name: 'config', have: '0-2' },
      ],
      threads: [],
      rps: [{ queue: 0, wanted: '0-1', have: '' }],
      xps: [],
    },
  ],
  steering: {
    uci: '',
    hook: 'ours',
    taken_over: true,
    text: '',
    cause: { code: 'suspended', params: {} },
  },
  differences: [],
};

it('parses CPU lists of the kernel', () => {
  expect([0, 1, 2, 3, 8].map((cpu) => has('0-2,8', cpu))).toEqual([true, true, true, false, true]);
  expect(has('', 0)).toBe(false);
});

it('shows pinned tasks on their CPU and omits all others', () => {
  expect(tasksOn(plan, 0)).toEqual([{ kind: 'irq', name: 'lan1-input.0', astray: false }]);
  expect(tasksOn(plan, 2)).toEqual([{ kind: 'management', name: 'Suricata', astray: false }]);
});

it('marks tasks on a CPU that the plan does not assign', () => {
  expect(tasksOn(plan, 1)).toEqual([
    { kind: 'irq', name: 'lan1 virtio-output', astray: true },
    { kind: 'queue', name: '0', astray: false },
    { kind: 'worker', name: 'Suricata', astray: false },
  ]);
});

it('groups tasks by kind', () => {
  expect(groupsOf(tasksOn(plan, 1)).map(({ kind }) => kind)).toEqual(['irq', 'queue', 'worker']);
});

it('splits the load into softirq, programs and the rest of the kernel', () => {
  const parts = (busy: number, softirq: number, user: number) =>
    shares({ cpu: 0, busy, softirq, user }).map(({ share }) => Math.round(share * 10));
  expect(parts(0.9, 0.5, 0.3)).toEqual([5, 3, 1]);
  // Rounded parts may exceed `busy`.
  expect(parts(0.7, 0.5, 0.3)).toEqual([5, 3, 0]);
});
