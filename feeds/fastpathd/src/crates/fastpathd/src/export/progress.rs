// SPDX-License-Identifier: GPL-2.0-or-later
//! State and counts of an exporter, and why its collector gets nothing.

use std::io;

config::named! {
    /// State of an exporter.
    pub enum ExportState {
        /// The collector is disabled.
        Off = "off",
        /// The exporter is connecting to the collector.
        Connecting = "connecting",
        /// The collector gets records or events.
        Up = "up",
        /// The collector cannot be reached.
        Down = "down",
        /// No route permits messages to the collector.
        NoRoute = "no-route",
    }
}

config::coded! {
    /// Why a collector gets nothing. `why` is the text of the kernel.
    pub(crate) enum ExportReason {
        Refused = "refused", "nothing listens on the collector's port";
        Closed = "closed", "the collector has closed the connection";
        Stalled = "stalled", "the collector does not read its messages";
        Unreachable { why: String } = "unreachable", "the collector cannot be reached: {why}";
        NoRoute = "no-route",
            "the route to this private address leads to the Internet or to no zone; bring its \
             tunnel up, or set option interface";
        InterfaceDown { interface: String } = "interface-down", "interface {interface} is down";
    }
}

impl ExportReason {
    /// Returns the state of a collector that gets nothing for this reason.
    pub(super) fn state(&self) -> ExportState {
        match self {
            Self::NoRoute | Self::InterfaceDown { .. } => ExportState::NoRoute,
            Self::Refused | Self::Closed | Self::Stalled | Self::Unreachable { .. } => {
                ExportState::Down
            }
        }
    }
}

impl From<io::Error> for ExportReason {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::ConnectionRefused {
            return Self::Refused;
        }
        Self::Unreachable { why: error.to_string() }
    }
}

/// The progress of an exporter since it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) state: ExportState,
    /// Start of the state, in Unix milliseconds.
    pub(crate) since_ms: u64,
    /// Records or events that were sent.
    pub(crate) sent: u64,
    /// Records or events that are lost: the queue was full, or the collector was not there.
    pub(crate) lost: u64,
    /// Records or events that wait.
    pub(crate) queued: u64,
    /// The last failure; `None` without a failure since the collector was last reached.
    pub(crate) reason: Option<ExportReason>,
}

impl Progress {
    pub(crate) fn begin(enabled: bool, unix_ms: u64) -> Self {
        let state = if enabled { ExportState::Connecting } else { ExportState::Off };
        Self { state, since_ms: unix_ms, sent: 0, lost: 0, queued: 0, reason: None }
    }
}

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
