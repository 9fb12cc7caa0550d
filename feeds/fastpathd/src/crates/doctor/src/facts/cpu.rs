// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the load of CPUs, the daemon's CPU plan, isolated CPUs and frequency governors.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Known, answer, file};
use crate::machine::Machine;

pub(crate) const STAT: &str = "/proc/stat";
pub(crate) const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
/// Folder of cpufreq's policies, one for each group of CPUs with a common clock.
pub(crate) const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

#[derive(Debug, Default)]
pub(crate) struct Cpu {
    pub loads: Known<Vec<Load>>,
    pub plan: Known<Value>,
    /// CPUs reserved by `isolcpus`, in the kernel's list format.
    pub isolated: String,
    /// Clocks of CPUs. Empty if the kernel cannot change frequencies.
    pub clocks: Vec<Clock>,
}

/// Load of a CPU between two readings, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub cpu: u32,
    pub softirq: u64,
    /// Idle time, including waits for a disk.
    pub idle: u64,
}

/// A policy of cpufreq.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clock {
    pub path: String,
    pub cpus: String,
    /// Driver, which determines the effect of a governor.
    pub driver: String,
    pub governor: String,
    pub available: String,
}

/// Reads the facts. A `sample` of zero omits the load.
pub(crate) fn read(machine: &dyn Machine, sample: Duration) -> Cpu {
    Cpu {
        loads: loads(machine, sample),
        plan: answer(machine, "fastpath", "cpu", &json!({})),
        isolated: machine.read(ISOLATED).unwrap_or_default().trim().to_owned(),
        clocks: clocks(machine),
    }
}

fn loads(machine: &dyn Machine, sample: Duration) -> Known<Vec<Load>> {
    if sample.is_zero() {
        return Known::new(Err("sampling of /proc/stat is disabled (sample_ms is 0)"));
    }
    Known(file(machine, STAT).and_then(|before| {
        machine.pause(sample);
        Ok(compare(&before, &file(machine, STAT)?))
    }))
}

/// Parses a line of `/proc/stat` into CPU number, and jiffies in total, in interrupts and idle.
fn jiffies(line: &str) -> Option<(u32, u64, u64, u64)> {
    // The first line, the sum of all CPUs, has no number and is skipped.
    let (cpu, words) = line.strip_prefix("cpu")?.split_once(' ')?;
    let cpu = cpu.parse().ok()?;
    let mut spent = [0_u64; 8];
    for (spent, word) in spent.iter_mut().zip(words.split_ascii_whitespace()) {
        *spent = word.parse().ok()?;
    }
    // user nice system idle iowait irq softirq steal
    let [.., idle, waiting, irq, softirq, _] = spent;
    Some((cpu, spent.iter().sum(), irq + softirq, idle + waiting))
}

/// Compares two readings. Skips CPUs that are missing in one of them.
fn compare(before: &str, after: &str) -> Vec<Load> {
    let known: Vec<_> = before.lines().filter_map(jiffies).collect();
    let mut loads = Vec::new();
    for (cpu, all, softirq, idle) in after.lines().filter_map(jiffies) {
        let Some(was) = known.iter().find(|was| was.0 == cpu) else { continue };
        let time = all.saturating_sub(was.1);
        if time > 0 {
            let share = |now: u64, was: u64| now.saturating_sub(was) * 100 / time;
            loads.push(Load { cpu, softirq: share(softirq, was.2), idle: share(idle, was.3) });
        }
    }
    loads
}

fn clocks(machine: &dyn Machine) -> Vec<Clock> {
    let mut clocks = Vec::new();
    for policy in machine.list(CPUFREQ).unwrap_or_default() {
        let path = format!("{CPUFREQ}/{policy}");
        let word = |file: &str| {
            let text = machine.read(&format!("{path}/{file}")).unwrap_or_default();
            text.trim().to_owned()
        };
        let governor = word("scaling_governor");
        if policy.starts_with("policy") && !governor.is_empty() {
            let (cpus, driver) = (word("affected_cpus"), word("scaling_driver"));
            let available = word("scaling_available_governors");
            clocks.push(Clock { path, cpus, driver, governor, available });
        }
    }
    clocks
}

/// Parses the kernel's list format such as `0-3,8`. Skips invalid parts.
pub(crate) fn cpus(list: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for part in list.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        // Limit the range to 8192, the maximum number of CPUs of a kernel.
        if let (Ok(low), Ok(high)) = (low.trim().parse::<u32>(), high.trim().parse::<u32>()) {
            found.extend(low..=high.min(low.saturating_add(8191)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::fake::Fake;

    const BEFORE: &str = "cpu  1 2 3 4\ncpu0 100 0 100 800 0 0 0 0 0 0\ncpu1 0 0 0 5 5 0 0 0\n";

    #[test]
    fn loads_are_percentages_of_the_time_between_readings() {
        let after = "cpu0 100 0 110 800 0 20 70 0 0 0\ncpu1 0 0 10 90 15 0 0 0\ncpu2 1 1 1 1\n";
        let want = [Load { cpu: 0, softirq: 90, idle: 0 }, Load { cpu: 1, softirq: 0, idle: 90 }];
        assert_eq!(compare(BEFORE, after), want);
        assert_eq!(compare(BEFORE, BEFORE), []);
    }

    #[test]
    fn the_load_is_unknown_without_a_sample() {
        let fake = Fake::new().file(STAT, BEFORE);
        assert!(read(&fake, Duration::ZERO).loads.get().is_err());
        assert!(read(&fake, Duration::from_secs(1)).loads.get().is_ok());
        assert!(fake.done().contains(&"pause 1000 ms".to_owned()));
    }

    #[test]
    fn parses_lists_of_cpus() {
        assert_eq!(cpus("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(cpus(""), [0_u32; 0]);
        assert_eq!(cpus("x,3"), [3]);
    }

    #[test]
    fn reads_only_clocks_with_a_governor() {
        let fake = Fake::new()
            .file("/sys/devices/system/cpu/cpufreq/boost", "1\n")
            .file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n")
            .file("/sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1\n");
        let clocks = clocks(&fake);
        assert_eq!(clocks.len(), 1);
        assert_eq!((&*clocks[0].governor, &*clocks[0].cpus), ("powersave", "0 1"));
    }
}
