// SPDX-License-Identifier: GPL-2.0-or-later
//! Computes CPU load from two readings of `/proc/stat` (`proc_stat(5)`).

use serde::Serialize;

/// Load of one CPU between two readings, as fractions of 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Load {
    pub(crate) cpu: u32,
    pub(crate) busy: f64,
    pub(crate) softirq: f64,
    pub(crate) user: f64,
}

/// Jiffies of one CPU since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Jiffies {
    cpu: u32,
    total: u64,
    idle: u64,
    softirq: u64,
    user: u64,
}

#[derive(Debug, Default)]
pub(crate) struct CpuMeter {
    last: Vec<Jiffies>,
    load: Vec<Load>,
}

impl CpuMeter {
    /// Parses `/proc/stat`. The new load covers the time since the previous reading.
    pub(crate) fn read(&mut self, stat: &str) {
        let now: Vec<Jiffies> = stat.lines().filter_map(parse_line).collect();
        self.load = now
            .iter()
            .map(|j| {
                let before = self.last.iter().find(|b| b.cpu == j.cpu).copied();
                difference(before.unwrap_or(*j), *j)
            })
            .collect();
        self.last = now;
    }

    pub(crate) fn load(&self) -> &[Load] {
        &self.load
    }
}

fn difference(before: Jiffies, now: Jiffies) -> Load {
    let total = now.total.saturating_sub(before.total);
    let share = |part: u64| {
        if total == 0 {
            return 0.0;
        }
        // The page shows three digits; more would only make the answer longer.
        #[expect(clippy::cast_precision_loss, reason = "jiffies of a second are small")]
        let fraction = part as f64 / total as f64;
        (fraction * 1000.0).round() / 1000.0
    };
    let idle = now.idle.saturating_sub(before.idle).min(total);
    Load {
        cpu: now.cpu,
        busy: share(total - idle),
        softirq: share(now.softirq.saturating_sub(before.softirq).min(total)),
        user: share(now.user.saturating_sub(before.user).min(total)),
    }
}

/// Parses `cpu0 user nice system idle iowait irq softirq steal …`. `None` for the total `cpu`.
fn parse_line(line: &str) -> Option<Jiffies> {
    let rest = line.strip_prefix("cpu")?;
    let mut fields = rest.split_ascii_whitespace();
    if rest.starts_with(' ') {
        return None;
    }
    let cpu = fields.next()?.parse().ok()?;
    // guest and guest_nice (9th, 10th) are already part of user and nice.
    let values: Vec<u64> = fields.take(8).map_while(|f| f.parse().ok()).collect();
    let [user, nice, _, idle, iowait, _, softirq, ..] = values[..] else {
        return None;
    };
    let total = values.iter().sum();
    Some(Jiffies { cpu, total, idle: idle + iowait, softirq, user: user + nice })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\nintr 5\n";
    const SECOND: &str = "cpu  20 0 20 120 0 0 40 0 0 0\ncpu0 20 0 20 120 0 0 40 0 0 0\n";

    #[test]
    fn load_is_the_difference_of_two_readings() {
        let mut meter = CpuMeter::default();
        meter.read(FIRST);
        assert_eq!(meter.load(), [Load { cpu: 0, busy: 0.0, softirq: 0.0, user: 0.0 }]);
        meter.read(SECOND);
        assert_eq!(meter.load(), [Load { cpu: 0, busy: 0.6, softirq: 0.4, user: 0.1 }]);
    }

    #[test]
    fn decreasing_counters_give_no_load() {
        let mut meter = CpuMeter::default();
        meter.read(SECOND);
        meter.read(FIRST);
        assert_eq!(meter.load(), [Load { cpu: 0, busy: 0.0, softirq: 0.0, user: 0.0 }]);
    }

    #[test]
    fn skips_malformed_lines_of_proc_stat() {
        let mut meter = CpuMeter::default();
        meter.read("cpu\ncpux 1 2\ncpu1 1 2 3\ncpufreq 1 2 3 4 5 6 7 8\n");
        assert!(meter.load().is_empty());
    }
}
