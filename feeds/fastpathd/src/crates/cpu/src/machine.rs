// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of the machine: CPUs, network devices with interrupts, NAPI threads, RPS and XPS maps, and
//! the file of each setting.

use config::sort::Collect;
use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::set::CpuSet;

pub const FULL_CAPACITY: u32 = 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Present CPUs in ascending order.
    pub cpus: Vec<Cpu>,
    /// Lowest network devices (see [`Device`]), sorted by name.
    pub devices: Vec<Device>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    pub cpu: u32,
    pub online: bool,
    /// Excluded from scheduling by `isolcpus=`.
    pub isolated: bool,
    /// Relative performance, about 1024 for the fastest CPU (`cpu_capacity`).
    pub capacity: u32,
    /// Lowest CPU number of the core's hyperthread siblings.
    pub core: u32,
    /// NUMA node. `None` without NUMA.
    pub node: Option<u32>,
}

/// A network device with its own queues and interrupts: the conduit of a DSA switch rather than a
/// port, the members of a bond rather than the bond.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    /// Requested devices whose packets pass this device, sorted. May include the device itself.
    pub carries: Vec<String>,
    /// Path of the hardware in sysfs; empty for a virtual device. Two MACs of one `SoC` Ethernet
    /// block have the same path and share interrupts.
    pub hardware: String,
    pub node: Option<u32>,
    /// Sorted by number.
    pub irqs: Vec<Irq>,
    /// Threaded NAPI: the polling kernel threads, in the order of their NAPI ids.
    pub threads: Vec<Thread>,
    /// `rps_cpus` of each receive queue. `None` if the file cannot be read.
    pub rx: Vec<Option<CpuSet>>,
    /// `xps_cpus` of each transmit queue. `None` for a single queue, which has no map.
    pub tx: Vec<Option<CpuSet>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Irq {
    pub number: u32,
    /// Name from `/proc/interrupts`. A shared interrupt has several, separated by commas.
    pub name: String,
    pub serves: Serves,
    /// Allowed CPUs (`smp_affinity`).
    pub affinity: CpuSet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Number of a receive queue, a transmit queue or a queue pair.
    Queue(u32),
    /// The name contains no queue, as with single-queue hardware.
    Unknown,
    /// Link changes, errors, mailboxes.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub pid: u32,
    pub name: String,
    pub affinity: CpuSet,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Knob {
    Irq {
        irq: u32,
        /// Detects that the number was reused after a driver reload.
        name: String,
    },
    /// CPUs that process packets of a receive queue. If empty, the interrupted CPU does.
    Rps {
        device: String,
        queue: u32,
    },
    Xps {
        device: String,
        queue: u32,
    },
    Thread {
        pid: u32,
        /// Detects that the process id was reused.
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
    pub fn knobs(&self) -> impl Iterator<Item = (Knob, &CpuSet)> {
        let irqs = self.irqs.iter().map(|irq| (irq.knob(), &irq.affinity));
        let threads = self.threads.iter().map(|thread| (thread.knob(), &thread.affinity));
        let rps = (0_u32..).zip(&self.rx);
        let rps = rps.filter_map(|(queue, have)| Some((self.rps(queue), have.as_ref()?)));
        let xps = (0_u32..).zip(&self.tx);
        let xps = xps.filter_map(|(queue, have)| Some((self.xps(queue), have.as_ref()?)));
        irqs.chain(threads).chain(rps).chain(xps)
    }

    #[must_use]
    pub fn rps(&self, queue: u32) -> Knob {
        Knob::Rps { device: self.name.clone(), queue }
    }

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

    #[must_use]
    pub fn usable(&self) -> CpuSet {
        let usable = self.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated);
        usable.map(|cpu| cpu.cpu).collect()
    }

    #[must_use]
    pub fn cpu(&self, number: u32) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.cpu == number)
    }

    /// Returns all settings with their values. A shared interrupt appears once.
    #[must_use]
    pub fn knobs(&self) -> BTreeMap<Knob, CpuSet> {
        let all = self.devices.iter().flat_map(Device::knobs);
        all.map(|(knob, have)| (knob, have.clone())).into_map()
    }
}
