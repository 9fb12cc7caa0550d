// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of the machine: CPUs, lowest network devices with interrupts, NAPI threads, RPS and XPS
//! maps, and the file that holds each setting.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::set::CpuSet;

/// Capacity of CPUs without a value in the kernel, so that all count as equal.
pub const FULL_CAPACITY: u32 = 1024;

/// The machine at one moment; [`Machine::read`] reads it from sysfs and procfs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Present CPUs in ascending order.
    pub cpus: Vec<Cpu>,
    /// Lowest network devices, sorted by name.
    pub devices: Vec<Device>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// Number in the kernel.
    pub cpu: u32,
    pub online: bool,
    /// Excluded from scheduling by `isolcpus=`, because it is reserved for other work.
    pub isolated: bool,
    /// Relative strength, about 1024 for the strongest (`cpu_capacity`; big.LITTLE, hybrid x86).
    pub capacity: u32,
    /// Lowest CPU number among its hyperthread siblings, the same for all CPUs of a core.
    pub core: u32,
    /// NUMA node; `None` if the kernel knows no nodes.
    pub node: Option<u32>,
}

/// A lowest network device, with its own queues and interrupts. A DSA switch's conduit is one, its
/// ports are not; the members of a bond are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    /// Requested devices with packets that pass this one, possibly itself; sorted.
    pub carries: Vec<String>,
    /// Path of the hardware in sysfs; empty for a virtual device. Two network devices of one
    /// piece of hardware (two MACs of a `SoC`'s Ethernet block) share interrupts.
    pub hardware: String,
    /// NUMA node of the hardware.
    pub node: Option<u32>,
    /// Sorted by number.
    pub irqs: Vec<Irq>,
    /// Kernel threads that poll it (threaded NAPI), in the order of their NAPI ids.
    pub threads: Vec<Thread>,
    /// `rps_cpus` of each receive queue; `None` if it cannot be read.
    pub rx: Vec<Option<CpuSet>>,
    /// `xps_cpus` of each transmit queue; `None` if the device has only one, which has no map.
    pub tx: Vec<Option<CpuSet>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Irq {
    /// Number in `/proc/irq/NUMBER`.
    pub number: u32,
    /// Name given by the driver, as in `/proc/interrupts`; several names are separated by commas.
    pub name: String,
    /// Use of the interrupt, derived from the name.
    pub serves: Serves,
    /// CPUs on which it may arrive (`smp_affinity`).
    pub affinity: CpuSet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Receive queue, transmit queue, or both, with this number.
    Queue(u32),
    /// The name has no queue, as on single-queue hardware.
    Unknown,
    /// Something other than a queue: link changes, errors, mailboxes.
    Other,
}

/// A kernel thread that polls a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub pid: u32,
    /// `napi/DEVICE-ID`.
    pub name: String,
    /// CPUs on which it may run.
    pub affinity: CpuSet,
}

/// A setting with a set of CPUs as its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Knob {
    /// CPUs on which an interrupt arrives.
    Irq {
        irq: u32,
        /// The number may belong to another device after a driver was loaded again.
        name: String,
    },
    /// CPUs that handle the packets of a receive queue; if empty, the CPU where they arrive.
    Rps {
        /// Network device.
        device: String,
        queue: u32,
    },
    /// CPUs that send through a transmit queue.
    Xps {
        /// Network device.
        device: String,
        queue: u32,
    },
    /// CPUs on which a polling thread runs.
    Thread {
        pid: u32,
        /// A process id may be reused.
        name: String,
    },
}

impl Knob {
    /// Returns the file of the value; for a thread, which has no file, `/proc/PID/NAME`.
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
    /// Formats the knob as the start of a sentence.
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
    #[must_use]
    pub fn knob(&self) -> Knob {
        Knob::Irq { irq: self.number, name: self.name.clone() }
    }
}

impl Thread {
    #[must_use]
    pub fn knob(&self) -> Knob {
        Knob::Thread { pid: self.pid, name: self.name.clone() }
    }
}

impl Device {
    /// Returns all settings of the device with their values.
    pub fn knobs(&self) -> impl Iterator<Item = (Knob, &CpuSet)> {
        let irqs = self.irqs.iter().map(|irq| (irq.knob(), &irq.affinity));
        let threads = self.threads.iter().map(|thread| (thread.knob(), &thread.affinity));
        let rps = (0_u32..).zip(&self.rx);
        let rps = rps.filter_map(|(queue, have)| Some((self.rps(queue), have.as_ref()?)));
        let xps = (0_u32..).zip(&self.tx);
        let xps = xps.filter_map(|(queue, have)| Some((self.xps(queue), have.as_ref()?)));
        irqs.chain(threads).chain(rps).chain(xps)
    }

    /// Returns the RPS knob of a receive queue.
    #[must_use]
    pub fn rps(&self, queue: u32) -> Knob {
        Knob::Rps { device: self.name.clone(), queue }
    }

    /// Returns the XPS knob of a transmit queue.
    #[must_use]
    pub fn xps(&self, queue: u32) -> Knob {
        Knob::Xps { device: self.name.clone(), queue }
    }
}

impl Machine {
    #[must_use]
    pub fn online(&self) -> CpuSet {
        self.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.cpu).collect()
    }

    /// Returns the CPUs that are online and not isolated.
    #[must_use]
    pub fn usable(&self) -> CpuSet {
        let usable = self.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated);
        usable.map(|cpu| cpu.cpu).collect()
    }

    #[must_use]
    pub fn cpu(&self, number: u32) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.cpu == number)
    }

    /// Returns all settings with their values; a shared interrupt appears once.
    #[must_use]
    pub fn knobs(&self) -> BTreeMap<Knob, CpuSet> {
        let all = self.devices.iter().flat_map(Device::knobs);
        all.map(|(knob, have)| (knob, have.clone())).collect()
    }
}
