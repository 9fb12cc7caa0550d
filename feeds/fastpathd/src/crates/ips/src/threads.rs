// SPDX-License-Identifier: GPL-2.0-or-later
//! CPUs of Suricata's threads, from the CPU plan (crate `cpu`).

use config::sort::Collect;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Threads {
    /// Whether threads are pinned. If not, only the number of workers matters.
    pub affinity: bool,
    pub management: Vec<u32>,
    /// Unused, because workers capture packets and send verdicts themselves.
    pub receive: Vec<u32>,
    pub workers: Vec<u32>,
    /// Unused, like `receive`.
    pub verdict: Vec<u32>,
}

impl Threads {
    #[must_use]
    pub fn queues(&self) -> u16 {
        u16::try_from(self.workers.len()).unwrap_or(u16::MAX).max(1)
    }

    /// Returns the last NFQUEUE number. This extra queue takes the connections that a source opens
    /// above its limit (`ruleset`, `rules/inspect.rs`).
    #[must_use]
    pub fn last_queue(&self, first: u16) -> u16 {
        first.saturating_add(self.queues())
    }

    /// Returns the CPU to which Suricata pins the thread of each NFQUEUE, in order. Suricata treats
    /// the workers' CPUs as a set: threads take them in ascending order, and start over at the
    /// lowest.
    #[must_use]
    pub fn placed(&self) -> Vec<Option<u32>> {
        let set = ascending(&self.workers);
        let cpu = |index: usize| set.get(index.checked_rem(set.len())?).copied();
        (0..=usize::from(self.queues())).map(|index| cpu(index).filter(|_| self.affinity)).collect()
    }
}

pub(crate) fn ascending(cpus: &[u32]) -> Vec<u32> {
    cpus.iter().copied().into_set().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(workers: &[u32]) -> Vec<Option<u32>> {
        Threads { affinity: true, workers: workers.to_vec(), ..Threads::default() }.placed()
    }

    #[test]
    fn places_workers_in_ascending_order() {
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
