// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs of Suricata's threads. Crate `cpu` decides which CPUs inspect.

use std::collections::BTreeSet;

/// Suricata's part of the CPU plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Threads {
    /// Threads are pinned. Otherwise only the number of workers counts.
    pub affinity: bool,
    /// CPUs of the flow manager, the counters and the command socket.
    pub management: Vec<u32>,
    /// CPUs of capture threads. Unused, because every worker captures for itself.
    pub receive: Vec<u32>,
    /// CPU of each worker, in the order of the queues: one queue for each worker.
    pub workers: Vec<u32>,
    /// CPUs of verdict threads, unused like `receive`.
    pub verdict: Vec<u32>,
}

impl Threads {
    /// Number of queues of the workers.
    #[must_use]
    pub fn queues(&self) -> u16 {
        u16::try_from(self.workers.len()).unwrap_or(u16::MAX).max(1)
    }

    /// Number of the last NFQUEUE, which follows the queues of the workers. It takes connections
    /// that a source opens beyond its limit (`ruleset`, `rules/inspect.rs`), and has its own
    /// thread.
    #[must_use]
    pub fn last_queue(&self, first: u16) -> u16 {
        first.saturating_add(self.queues())
    }

    /// Returns the CPU to which Suricata pins the thread of each NFQUEUE, in order. Suricata knows
    /// the workers' CPUs only as a set: its threads take them in ascending order, and start again
    /// at the lowest. Other plans cannot be expressed.
    #[must_use]
    pub fn placed(&self) -> Vec<Option<u32>> {
        let set = ascending(&self.workers);
        let cpu = |index: usize| set.get(index.checked_rem(set.len())?).copied();
        (0..=usize::from(self.queues())).map(|index| cpu(index).filter(|_| self.affinity)).collect()
    }
}

/// Returns the CPUs in ascending order without duplicates.
pub(crate) fn ascending(cpus: &[u32]) -> Vec<u32> {
    cpus.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(workers: &[u32]) -> Vec<Option<u32>> {
        Threads { affinity: true, workers: workers.to_vec(), ..Threads::default() }.placed()
    }

    #[test]
    fn workers_are_placed_in_ascending_order() {
        assert_eq!(placed(&[2, 3]), [Some(2), Some(3), Some(2)]);
        assert_eq!(placed(&[3, 2]), [Some(2), Some(3), Some(2)]);
        assert_eq!(placed(&[1, 1]), [Some(1), Some(1), Some(1)]);
        assert_eq!(placed(&[]), [None, None], "there is always one queue");
    }

    #[test]
    fn unpinned_workers_have_no_cpu() {
        let threads = Threads { workers: vec![0, 1], ..Threads::default() };
        assert_eq!(threads.placed(), [None, None, None]);
        assert_eq!(threads.queues(), 2);
    }
}
