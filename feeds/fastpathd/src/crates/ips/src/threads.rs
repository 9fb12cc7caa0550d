// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs of Suricata's threads, one queue for each worker, and the CPU to which Suricata really pins
//! each worker. Crate `cpu` decides which CPUs inspect.

use std::collections::BTreeSet;

/// Suricata's part of the CPU plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Threads {
    /// Whether threads are pinned at all. If not, only the number of workers counts.
    pub affinity: bool,
    /// CPUs of the flow manager, the counters and the command socket.
    pub management: Vec<u32>,
    /// CPUs of capture threads. Unused while every worker captures for itself.
    pub receive: Vec<u32>,
    /// The CPU of each worker, in the order of the queues: one worker a queue.
    pub workers: Vec<u32>,
    /// CPUs of verdict threads, unused likewise.
    pub verdict: Vec<u32>,
}

impl Threads {
    /// Number of queues, one a worker.
    #[must_use]
    pub fn queues(&self) -> u16 {
        u16::try_from(self.workers.len()).unwrap_or(u16::MAX).max(1)
    }

    /// Number of the last NFQUEUE. The one behind those of the workers is for what a source opens
    /// beyond its limit (`ruleset`, `rules/inspect.rs`), and has a thread of its own.
    #[must_use]
    pub fn last_queue(&self, first: u16) -> u16 {
        first.saturating_add(self.queues())
    }

    /// The CPU to which Suricata really pins the thread of each NFQUEUE, in their order. It knows
    /// the workers' CPUs only as a set: its first thread takes the lowest of them, the next one the
    /// next, and after the highest it starts again at the lowest. Other plans cannot be expressed.
    #[must_use]
    pub fn placed(&self) -> Vec<Option<u32>> {
        let set = ascending(&self.workers);
        let cpu = |index: usize| set.get(index.checked_rem(set.len())?).copied();
        (0..=usize::from(self.queues())).map(|index| cpu(index).filter(|_| self.affinity)).collect()
    }
}

/// The CPUs as a set.
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
