// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the load of each CPU between two readings of `/proc/stat`, the daemon's CPU plan, isolated
//! CPUs and cpufreq's governors. Also parses lists of CPUs such as `0-3,8`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Known, answer, file};
use crate::machine::Machine;

/// Where the load is read.
pub(crate) const STAT: &str = "/proc/stat";
/// CPUs that the scheduler does not use.
pub(crate) const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
/// A folder for each group of CPUs that share a clock.
pub(crate) const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// The processors.
#[derive(Debug, Default)]
pub(crate) struct Cpu {
    /// The load of each CPU between two readings, in the order of their numbers.
    pub loads: Known<Vec<Load>>,
    /// The daemon's `cpu`.
    pub plan: Known<Value>,
    /// CPUs that `isolcpus` took from the scheduler, as the kernel's list; empty: none.
    pub isolated: String,
    /// Clocks of CPUs; empty where the hardware or the kernel has one clock only.
    pub clocks: Vec<Clock>,
}

/// The load of one CPU between two readings, in percent of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    /// Its number.
    pub cpu: u32,
    /// In interrupts, and in the work they leave behind: packets above all.
    pub softirq: u64,
    /// Doing nothing, or waiting for a disk.
    pub idle: u64,
}

/// A policy of cpufreq.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Its folder.
    pub path: String,
    /// The kernel's list of its CPUs.
    pub cpus: String,
    /// The driver: some have a governor of the same name that does another thing.
    pub driver: String,
    /// The governor of the frequency.
    pub governor: String,
    /// Other governors of this driver.
    pub available: String,
}

/// Reads it; a `sample` of zero leaves the load out.
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

/// Jiffies of a CPU: its number, all of them, those in interrupts, those idle.
fn jiffies(line: &str) -> Option<(u32, u64, u64, u64)> {
    // The first line, of all together, has no number.
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

/// CPUs that came or went between the readings are left out.
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

/// The CPUs of a kernel's list such as `0-3,8`; invalid parts are left out.
pub(crate) fn cpus(list: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for part in list.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        // More CPUs than any kernel has would be a broken text.
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
    fn loads_are_shares_of_the_time_between() {
        let after = "cpu0 100 0 110 800 0 20 70 0 0 0\ncpu1 0 0 10 90 15 0 0 0\ncpu2 1 1 1 1\n";
        let want = [Load { cpu: 0, softirq: 90, idle: 0 }, Load { cpu: 1, softirq: 0, idle: 90 }];
        assert_eq!(compare(BEFORE, after), want);
        assert_eq!(compare(BEFORE, BEFORE), []);
    }

    #[test]
    fn without_time_there_is_no_load() {
        let fake = Fake::new().file(STAT, BEFORE);
        assert!(read(&fake, Duration::ZERO).loads.get().is_err());
        assert!(read(&fake, Duration::from_secs(1)).loads.get().is_ok());
        assert!(fake.done().contains(&"pause 1000 ms".to_owned()));
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpus("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(cpus(""), [0_u32; 0]);
        assert_eq!(cpus("x,3"), [3]);
    }

    #[test]
    fn clocks_are_those_with_a_governor() {
        let fake = Fake::new()
            .file("/sys/devices/system/cpu/cpufreq/boost", "1\n")
            .file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n")
            .file("/sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0 1\n");
        let clocks = clocks(&fake);
        assert_eq!(clocks.len(), 1);
        assert_eq!((&*clocks[0].governor, &*clocks[0].cpus), ("powersave", "0 1"));
    }
}
