// SPDX-License-Identifier: GPL-2.0-or-later
//! Assigns interrupts, NAPI threads and queues (RPS, XPS) to the forwarding CPUs.
//!
//! The forwarding CPUs are ordered in a row: one CPU of each core first, strong cores first,
//! siblings last. A device with a NUMA node uses the CPUs of its node, if any of them forward.
//! Queue *q* of a device belongs to CPU (start + *q*) of the row, modulo its length. Each further
//! device continues where the last one ended, so that two single-queue ports get a CPU each.
//!
//! * **Interrupts** go to the CPU of their queue. Transmit interrupts go there, too, because that
//!   CPU has touched the memory that they free. If names have no queue (`15100000.ethernet` three
//!   times), interrupts are distributed in order. Link and error interrupts are not moved.
//! * **RPS** is off (empty mask) if the hardware has a queue for each CPU of the row, which makes
//!   another hop useless. With fewer queues, queue *q* gets every CPU of the row that is *q* modulo
//!   the number of queues, except the CPU of its interrupt, which is busy with the driver and GRO.
//!   The flowtable's hook runs after RPS, so offloaded flows are distributed, too. A device without
//!   a known interrupt gets the whole row, because packets may arrive on an inspection CPU.
//! * **XPS**: the row's CPUs, then all others, send through the queues in order. Inspection CPUs
//!   need queues, because a worker sends the packet that it accepts. Queues beyond the number of
//!   CPUs belong to the CPU of their interrupt.
//! * **Threaded NAPI** (`OpenWrt` enables it for `mtk_soc_eth`): the polling thread gets the CPU of
//!   its interrupt.
//!
//! `rps_flow_cnt` (RFS) is unchanged, because it affects only packets for local sockets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::machine::{Device, Knob, Machine, Serves};
use crate::set::CpuSet;

#[must_use]
pub(crate) fn steer(machine: &Machine, forwarding: &CpuSet) -> BTreeMap<Knob, CpuSet> {
    let mut wants = BTreeMap::new();
    let mut starts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    for device in &machine.devices {
        let row = row(machine, forwarding, device.node);
        if row.is_empty() {
            continue;
        }
        let next = next.entry(row.clone()).or_default();
        let known = starts.get(device.hardware.as_str()).copied();
        let start = known.filter(|_| !device.hardware.is_empty()).unwrap_or_else(|| {
            let start = *next;
            *next += device.rx.len().max(1);
            start
        });
        starts.insert(&device.hardware, start);
        Steered { device, row: &row, start }.steer(machine, &mut wants);
    }
    wants
}

/// Returns the forwarding CPUs for a device on `node`, in the order of assignment.
fn row(machine: &Machine, forwarding: &CpuSet, node: Option<u32>) -> Vec<u32> {
    let all: Vec<_> = machine.cpus.iter().filter(|cpu| forwarding.contains(cpu.cpu)).collect();
    let on_node: Vec<_> =
        all.iter().copied().filter(|cpu| node.is_some() && cpu.node == node).collect();
    let mut row = if on_node.is_empty() { all } else { on_node };
    config::sort::by_key(&mut row, |cpu| (cpu.cpu != cpu.core, Reverse(cpu.capacity), cpu.cpu));
    row.into_iter().map(|cpu| cpu.cpu).collect()
}

struct Steered<'a> {
    device: &'a Device,
    row: &'a [u32],
    start: usize,
}

impl Steered<'_> {
    fn steer(&self, machine: &Machine, wants: &mut BTreeMap<Knob, CpuSet>) {
        let device = self.device;
        let mut unknown = 0;
        for irq in &device.irqs {
            let cpu = match irq.serves {
                Serves::Queue(queue) => self.cpu(queue as usize),
                Serves::Unknown => {
                    unknown += 1;
                    self.cpu_by_index(unknown - 1)
                }
                Serves::Other => continue,
            };
            // A shared interrupt keeps the CPU that an earlier device assigned.
            wants.entry(irq.knob()).or_insert_with(|| CpuSet::from_iter([cpu]));
        }
        for (index, thread) in device.threads.iter().enumerate() {
            let cpu = self.cpu_by_index(index);
            wants.entry(thread.knob()).or_insert_with(|| CpuSet::from_iter([cpu]));
        }
        for (queue, have) in (0..).zip(&device.rx) {
            if have.is_some() {
                wants.insert(device.rps(queue), self.rps(queue as usize));
            }
        }
        let others = machine.online();
        for (queue, have) in (0..).zip(&device.tx) {
            if have.is_some() {
                wants.insert(device.xps(queue), self.xps(queue as usize, &others));
            }
        }
    }

    fn cpu(&self, queue: usize) -> u32 {
        self.row[(self.start + queue) % self.row.len()]
    }

    fn cpu_by_index(&self, index: usize) -> u32 {
        self.cpu(index % self.device.rx.len().max(1))
    }

    fn rps(&self, queue: usize) -> CpuSet {
        let (queues, length) = (self.device.rx.len(), self.row.len());
        let arrives_in_row = self.device.irqs.iter().any(|irq| irq.serves != Serves::Other)
            || !self.device.threads.is_empty();
        if !arrives_in_row {
            return self.row.iter().copied().collect();
        }
        if queues >= length {
            return CpuSet::new();
        }
        let of_queue = (queue..length).step_by(queues).map(|place| self.cpu(place));
        of_queue.filter(|cpu| *cpu != self.cpu(queue)).collect()
    }

    fn xps(&self, queue: usize, online: &CpuSet) -> CpuSet {
        let queues = self.device.tx.len();
        let others = online.iter().filter(|cpu| !self.row.contains(cpu));
        let all: Vec<u32> =
            (0..self.row.len()).map(|place| self.cpu(place)).chain(others).collect();
        let mut cpus: CpuSet = all.iter().copied().skip(queue).step_by(queues).collect();
        if cpus.is_empty() {
            cpus.insert(self.cpu(queue));
        }
        cpus
    }
}
