// SPDX-License-Identifier: GPL-2.0-or-later
//! The last log line about a collector, so that a repeated failure is logged once.

use gateway::export::ExportReason;

/// The last log line about a collector.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum LastLine {
    /// No line has been logged yet.
    #[default]
    None,
    /// The collector gets messages.
    Reached,
    /// The collector has failed, for this reason.
    Failed(ExportReason),
}

impl LastLine {
    /// Returns true if the next line differs. Attempts with the same failure are logged once.
    pub(super) fn changes(&mut self, reason: Option<&ExportReason>) -> bool {
        let line = reason.map_or(Self::Reached, |reason| Self::Failed(reason.clone()));
        let changes = *self != line;
        *self = line;
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_failure_is_logged_once() {
        use ExportReason::{Closed, Stalled};
        let (closed, stalled) = (Some(&Closed), Some(&Stalled));
        let lines = [closed, closed, None, None, stalled, stalled, closed, None, closed];
        let mut last = LastLine::default();
        let changes = lines.map(|line| last.changes(line));
        assert_eq!(changes, [true, false, true, false, true, false, true, true, true]);
        assert!(LastLine::default().changes(None), "the first one");
    }
}
