// SPDX-License-Identifier: GPL-2.0-or-later
//! The model of the machine: CPUs (capacity, core, NUMA node, isolated), lowest network devices
//! with interrupts, NAPI threads, RPS and XPS maps, and the file that holds each of these settings.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::set::CpuSet;

/// Capacity of a CPU for which the kernel reports none: all CPUs then count as equal.
pub const FULL_CAPACITY: u32 = 1024;

/// The machine at one moment. Plain values; [`Machine::read`] makes one from sysfs and procfs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Present CPUs in ascending order.
    pub cpus: Vec<Cpu>,
    /// Undermost network devices in the order of their names.
    pub devices: Vec<Device>,
}

/// One CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub cpu: u32,
    /// It runs.
    pub online: bool,
    /// Kept out of scheduling by `isolcpus=`: somebody reserved it for work of their own.
    pub isolated: bool,
    /// Relative strength, the strongest about 1024 (`cpu_capacity`; big.LITTLE, hybrid x86).
    pub capacity: u32,
    /// Lowest number among its hyperthread siblings: the same for CPUs of one core.
    pub core: u32,
    /// NUMA node; none where the kernel knows no nodes.
    pub node: Option<u32>,
}

/// A lowest network device, with its own queues and interrupts. The ports of a DSA
/// switch have neither, their conduit has; so has a bond's member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Device {
    /// Name of the network device.
    pub name: String,
    /// The devices asked for whose packets it carries, itself perhaps, sorted.
    pub carries: Vec<String>,
    /// Path of the hardware in sysfs; empty for a virtual device. Two network devices of one
    /// piece of hardware (two MACs of a `SoC`'s Ethernet block) share interrupts.
    pub hardware: String,
    /// NUMA node of the hardware.
    pub node: Option<u32>,
    /// Its interrupts by number.
    pub irqs: Vec<Irq>,
    /// Kernel threads that poll it (threaded NAPI), by the order of their NAPI ids.
    pub threads: Vec<Thread>,
    /// `rps_cpus` of each receive queue; none where it cannot be read.
    pub rx: Vec<Option<CpuSet>>,
    /// `xps_cpus` of each transmit queue; none where the device has only one, which has no map.
    pub tx: Vec<Option<CpuSet>>,
}

/// An interrupt of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Irq {
    /// The kernel's number: `/proc/irq/NUMBER`.
    pub number: u32,
    /// Its name by the driver, as in `/proc/interrupts`; several names with a comma.
    pub name: String,
    /// Its use, derived from the name.
    pub serves: Serves,
    /// CPUs it may arrive on (`smp_affinity`).
    pub affinity: CpuSet,
}

/// The use of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Receive queue, transmit queue or both of this number.
    Queue(u32),
    /// Not in the name: the only one on single-queue hardware.
    Unknown,
    /// An interrupt besides the queues' own: link changes, errors, mailboxes.
    Other,
}

/// A kernel thread that polls a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its process id.
    pub pid: u32,
    /// `napi/DEVICE-ID`.
    pub name: String,
    /// CPUs it may run on.
    pub affinity: CpuSet,
}

/// One thing that can be set, with the set of CPUs as its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Knob {
    /// Where an interrupt arrives.
    Irq {
        /// Its number.
        irq: u32,
        /// Its name: a number may belong to another device after a driver was loaded again.
        name: String,
    },
    /// Where the packets of a receive queue are handled; the empty set: where they arrive.
    Rps {
        /// Network device.
        device: String,
        /// Receive queue.
        queue: u32,
    },
    /// Which CPUs send through a transmit queue.
    Xps {
        /// Network device.
        device: String,
        /// Transmit queue.
        queue: u32,
    },
    /// Where a polling thread runs.
    Thread {
        /// Process id.
        pid: u32,
        /// Its name: a process id may be used again.
        name: String,
    },
}

impl Knob {
    /// The file that holds the value; of a thread, which has none, `/proc/PID/NAME`.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Self::Irq { irq, .. } => format!("/proc/irq/{irq}/smp_affinity"),
            Self::Rps { device, queue } => {
                format!("/sys/class/net/{device}/queues/rx-{queue}/rps_cpus")
            }
            Self::Xps { device, queue } => {
                format!("/sys/class/net/{device}/queues/tx-{queue}/xps_cpus")
            }
            Self::Thread { pid, name } => format!("/proc/{pid}/{name}"),
        }
    }
}

impl fmt::Display for Knob {
    /// Text to begin a sentence with.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Irq { irq, name } if name.is_empty() => write!(f, "interrupt {irq}"),
            Self::Irq { irq, name } => write!(f, "interrupt {irq} ({name})"),
            Self::Rps { device, queue } => write!(f, "RPS of {device}, receive queue {queue}"),
            Self::Xps { device, queue } => write!(f, "XPS of {device}, transmit queue {queue}"),
            Self::Thread { pid, name } => write!(f, "thread {pid} ({name})"),
        }
    }
}

impl Irq {
    /// The knob that moves it.
    #[must_use]
    pub fn knob(&self) -> Knob {
        Knob::Irq { irq: self.number, name: self.name.clone() }
    }
}

impl Thread {
    /// The knob that moves it.
    #[must_use]
    pub fn knob(&self) -> Knob {
        Knob::Thread { pid: self.pid, name: self.name.clone() }
    }
}

impl Device {
    /// All its settings, with their values.
    pub fn knobs(&self) -> impl Iterator<Item = (Knob, &CpuSet)> {
        let irqs = self.irqs.iter().map(|irq| (irq.knob(), &irq.affinity));
        let threads = self.threads.iter().map(|thread| (thread.knob(), &thread.affinity));
        let rps = (0_u32..).zip(&self.rx);
        let rps = rps.filter_map(|(queue, have)| Some((self.rps(queue), have.as_ref()?)));
        let xps = (0_u32..).zip(&self.tx);
        let xps = xps.filter_map(|(queue, have)| Some((self.xps(queue), have.as_ref()?)));
        irqs.chain(threads).chain(rps).chain(xps)
    }

    /// The knob of a receive queue.
    #[must_use]
    pub fn rps(&self, queue: u32) -> Knob {
        Knob::Rps { device: self.name.clone(), queue }
    }

    /// The knob of a transmit queue.
    #[must_use]
    pub fn xps(&self, queue: u32) -> Knob {
        Knob::Xps { device: self.name.clone(), queue }
    }
}

impl Machine {
    /// CPUs that run.
    #[must_use]
    pub fn online(&self) -> CpuSet {
        self.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.cpu).collect()
    }

    /// CPUs that run and that nobody isolated.
    #[must_use]
    pub fn usable(&self) -> CpuSet {
        let usable = self.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated);
        usable.map(|cpu| cpu.cpu).collect()
    }

    /// The CPU of this number.
    #[must_use]
    pub fn cpu(&self, number: u32) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.cpu == number)
    }

    /// All settings, with their values. A shared interrupt appears once.
    #[must_use]
    pub fn knobs(&self) -> BTreeMap<Knob, CpuSet> {
        let all = self.devices.iter().flat_map(Device::knobs);
        all.map(|(knob, have)| (knob, have.clone())).collect()
    }
}
