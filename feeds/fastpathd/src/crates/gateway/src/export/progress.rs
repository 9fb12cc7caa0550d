// SPDX-License-Identifier: GPL-2.0-or-later
//! State and counts of an exporter, and why its collector gets nothing.

use std::io;

config::named! {
    pub enum ExportState {
        Off = "off",
        Connecting = "connecting",
        Up = "up",
        Down = "down",
        /// No route permits messages to the collector.
        NoRoute = "no-route",
    }
}

config::coded! {
    /// Why a collector gets nothing. `why` is the text of the kernel.
    pub enum ExportReason {
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
    #[must_use]
    pub fn state(&self) -> ExportState {
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

/// Progress of an exporter since its start, with counts of records or events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub state: ExportState,
    /// Start of the state, in Unix milliseconds.
    pub since_ms: u64,
    pub sent: u64,
    /// Records or events lost to a full queue or an unreachable collector.
    pub lost: u64,
    pub queued: u64,
    /// The last failure; `None` without a failure since the collector was last reached.
    pub reason: Option<ExportReason>,
}

impl Progress {
    #[must_use]
    pub fn begin(enabled: bool, unix_ms: u64) -> Self {
        let state = if enabled { ExportState::Connecting } else { ExportState::Off };
        Self { state, since_ms: unix_ms, sent: 0, lost: 0, queued: 0, reason: None }
    }
}
