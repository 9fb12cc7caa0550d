// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the machine from sysfs and procfs.

use config::sort::Collect;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use crate::interrupts::{self, owned};
use crate::machine::{Cpu, Device, FULL_CAPACITY, Irq, Machine, Thread};
use crate::set::CpuSet;

#[derive(Debug, Error)]
pub enum ReadError {
    /// A file that exists on every kernel cannot be read.
    #[error("read {path}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("read {path}: '{text}' {what}")]
    Malformed { path: PathBuf, text: String, what: config::Fault },
}

impl Machine {
    /// Reads the CPUs and the network devices that packets of `devices` pass. Stacked devices
    /// (`lower_*` links) are replaced by their lowest devices. Skips missing devices.
    pub fn read(root: &Path, devices: &BTreeSet<String>) -> Result<Self, ReadError> {
        let root = Root(root);
        let cpus = root.cpus()?;
        let mut carried: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for device in devices {
            for lowest in root.lowest(device) {
                carried.entry(lowest).or_default().insert(device.clone());
            }
        }
        let names = interrupts::names(&root.text("/proc/interrupts").unwrap_or_default());
        let threads = root.threads();
        let device = |(name, carries)| root.device(name, carries, &names, &threads);
        Ok(Self { cpus, devices: carried.into_iter().map(device).collect() })
    }
}

struct Root<'a>(&'a Path);

impl Root<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    fn text(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.path(path)).map(|text| text.trim_end().to_owned())
    }

    /// Returns the value of a file. `None` if the file is missing or invalid.
    fn value<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path).ok()?.trim().parse().ok()
    }

    fn mask(&self, path: &str) -> Option<CpuSet> {
        CpuSet::from_mask(&self.text(path).ok()?).ok()
    }

    /// Lists a directory, sorted. Empty if the directory does not exist.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.into_set().into_iter().collect()
    }

    fn list(&self, path: &str) -> Result<CpuSet, ReadError> {
        let (text, path) = (self.text(path), self.path(path));
        let text = text.map_err(|source| ReadError::Unreadable { path: path.clone(), source })?;
        text.parse().map_err(|what| ReadError::Malformed { path, text: text.clone(), what })
    }

    fn cpus(&self) -> Result<Vec<Cpu>, ReadError> {
        const CPUS: &str = "/sys/devices/system/cpu";
        let present = self.list(&format!("{CPUS}/present"))?;
        let online = self.list(&format!("{CPUS}/online"))?;
        // Missing without CONFIG_CPU_ISOLATION.
        let isolated: CpuSet = self.value(&format!("{CPUS}/isolated")).unwrap_or_default();
        let nodes = self.nodes();
        let cpu = |cpu: u32| {
            let of = |file: &str| format!("{CPUS}/cpu{cpu}/{file}");
            let siblings: Option<CpuSet> =
                ["topology/core_cpus_list", "topology/thread_siblings_list"]
                    .iter()
                    .find_map(|file| self.value(&of(file)));
            Cpu {
                cpu,
                online: online.contains(cpu),
                isolated: isolated.contains(cpu),
                capacity: self.value(&of("cpu_capacity")).unwrap_or(FULL_CAPACITY),
                core: siblings.and_then(|siblings| siblings.first()).unwrap_or(cpu),
                node: nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|(node, _)| *node),
            }
        };
        Ok(present.iter().map(cpu).collect())
    }

    fn nodes(&self) -> Vec<(u32, CpuSet)> {
        const NODES: &str = "/sys/devices/system/node";
        let node = |name: String| {
            let node = name.strip_prefix("node")?.parse().ok()?;
            Some((node, self.value(&format!("{NODES}/{name}/cpulist"))?))
        };
        self.names(NODES).into_iter().filter_map(node).collect()
    }

    fn lowest(&self, device: &str) -> BTreeSet<String> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut open = vec![device.to_owned()];
        while let Some(device) = open.pop() {
            let folder = format!("/sys/class/net/{device}");
            if !self.path(&folder).exists() || !seen.insert(device.clone()) {
                continue;
            }
            let names = self.names(&folder);
            let below = names.iter().filter_map(|name| name.strip_prefix("lower_"));
            let below: Vec<String> = below.map(str::to_owned).collect();
            if below.is_empty() {
                found.insert(device);
            }
            open.extend(below);
        }
        found
    }

    fn device(
        &self,
        name: String,
        carries: BTreeSet<String>,
        names: &BTreeMap<u32, String>,
        threads: &[(String, u64, Thread)],
    ) -> Device {
        let folder = format!("/sys/class/net/{name}");
        let hardware = fs::canonicalize(self.path(&format!("{folder}/device"))).ok();
        let threads = threads.iter().filter(|(owner, ..)| {
            *owner == name || (owner == "mtk_eth" && driver(hardware.as_deref()) == "mtk_soc_eth")
        });
        Device {
            carries: carries.into_iter().collect(),
            hardware: hardware.as_deref().map_or_else(String::new, |path| self.below(path)),
            node: hardware.as_deref().and_then(node),
            irqs: self.irqs(&name, hardware.as_deref(), names),
            threads: threads.map(|(_, _, thread)| thread.clone()).collect(),
            rx: self.queues(&folder, "rx-", "rps_cpus"),
            tx: self.queues(&folder, "tx-", "xps_cpus"),
            name,
        }
    }

    fn below(&self, path: &Path) -> String {
        let root = fs::canonicalize(self.0).unwrap_or_else(|_| self.0.to_owned());
        path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Returns the map of each queue. The kernel has no readable map for a single transmit queue.
    fn queues(&self, folder: &str, kind: &str, file: &str) -> Vec<Option<CpuSet>> {
        let names = self.names(&format!("{folder}/queues"));
        let queues = names.iter().filter(|name| name.starts_with(kind)).count();
        (0..queues)
            .map(|queue| self.mask(&format!("{folder}/queues/{kind}{queue}/{file}")))
            .collect()
    }

    fn irqs(
        &self,
        device: &str,
        hardware: Option<&Path>,
        names: &BTreeMap<u32, String>,
    ) -> Vec<Irq> {
        let base = hardware.map(base_name).unwrap_or_default();
        let assigned = hardware.map(bus_irqs).unwrap_or_default();
        let own: Vec<(u32, &str)> = names
            .iter()
            .filter(|(number, name)| {
                let by_name = assigned.is_empty() && (owned(name, device) || owned(name, &base));
                assigned.contains(number) || (hardware.is_some() && by_name)
            })
            .map(|(number, name)| (*number, name.as_str()))
            .collect();
        let texts: Vec<&str> = own.iter().map(|(_, name)| *name).collect();
        let serves = interrupts::serves(&texts, &base);
        let irq = |((number, name), serves)| {
            let affinity = self.mask(&format!("/proc/irq/{number}/smp_affinity"))?;
            Some(Irq { number, name: String::from(name), serves, affinity })
        };
        own.into_iter().zip(serves).filter_map(irq).collect()
    }

    /// Returns threads named `napi/DEVICE-ID` as (device, id, thread), sorted by id.
    fn threads(&self) -> Vec<(String, u64, Thread)> {
        let thread = |pid: String| {
            let pid: u32 = pid.parse().ok()?;
            let name = self.text(&format!("/proc/{pid}/comm")).ok()?;
            let (device, id) = name.strip_prefix("napi/")?.rsplit_once('-')?;
            let (device, id) = (device.to_owned(), id.parse().ok()?);
            let affinity = self.affinity_of(pid)?;
            Some((device, id, Thread { pid, name, affinity }))
        };
        let mut threads: Vec<_> = self.names("/proc").into_iter().filter_map(thread).collect();
        config::sort::by_key(&mut threads, |(_, id, _)| *id);
        threads
    }

    fn affinity_of(&self, pid: u32) -> Option<CpuSet> {
        let status = self.text(&format!("/proc/{pid}/status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.parse().ok()
    }
}

fn base_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn driver(hardware: Option<&Path>) -> String {
    let link = hardware.and_then(|path| fs::read_link(path.join("driver")).ok());
    link.as_deref().map(base_name).unwrap_or_default()
}

/// Returns the device and its parents, such as virtio device and PCI function, up to the first PCI
/// function. PCI bridges above have their own interrupts.
fn chain(hardware: &Path) -> Vec<&Path> {
    let mut chain = Vec::new();
    for path in hardware.ancestors().take_while(|path| base_name(path) != "devices") {
        chain.push(path);
        let bus = fs::read_link(path.join("subsystem")).ok();
        if bus.is_some_and(|bus| base_name(&bus) == "pci") {
            break;
        }
    }
    chain
}

fn node(hardware: &Path) -> Option<u32> {
    // Without a node, the file has -1, which does not parse.
    let read = |path: &Path| fs::read_to_string(path.join("numa_node")).ok()?.trim().parse().ok();
    chain(hardware).into_iter().find_map(read)
}

/// Returns the interrupts that the bus assigned. Empty for platform devices.
fn bus_irqs(hardware: &Path) -> BTreeSet<u32> {
    for path in chain(hardware) {
        let msi = fs::read_dir(path.join("msi_irqs")).into_iter().flatten().flatten();
        let numbers = msi.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut numbers: BTreeSet<u32> = numbers.into_set();
        if numbers.is_empty() {
            let line = fs::read_to_string(path.join("irq")).ok();
            let line = line.and_then(|text| text.trim().parse::<u32>().ok());
            numbers.extend(line.filter(|number| *number != 0));
        }
        if !numbers.is_empty() {
            return numbers;
        }
    }
    BTreeSet::new()
}

#[cfg(test)]
mod tests;
