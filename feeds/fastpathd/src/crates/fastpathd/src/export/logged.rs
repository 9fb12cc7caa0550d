// SPDX-License-Identifier: GPL-2.0-or-later
//! Suppresses repeated log lines about a collector.

use gateway::export::ExportReason;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum LastLine {
    #[default]
    None,
    Reached,
    Failed(ExportReason),
}

impl LastLine {
    /// Returns whether the next line differs and has to be logged.
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
        assert!(LastLine::default().changes(None), "the first line");
    }
}
