// SPDX-License-Identifier: GPL-2.0-or-later
//! The handshake between flow table and eBPF engine, one state machine for each flow: window
//! tracking off, installation, refusal, when a refused flow is requested again. Also which version
//! of the firewall's rules a flow has passed.
//!
//! `docs/design/offload-handshake.md` draws it. Nothing here knows of the table or the engine:
//! an event goes in, the next state and at most one action come out.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use model::Connection;

use crate::path::Reason;
use crate::proto::TCP;

/// Requests of the flow table to the eBPF engine and to conntrack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadRequest {
    /// Disable conntrack's TCP window tracking for this connection, and report the outcome with
    /// [`window_tracking`](crate::FlowTable::window_tracking). With window tracking on, a reply
    /// that arrives between the writing of the two entries would be invalid: it acknowledges
    /// bytes that conntrack has not seen.
    DisableWindowTracking(Connection),
    /// Install the entries of this connection, and report the outcome with
    /// [`installed`](crate::FlowTable::installed).
    Install(Connection),
    /// Remove the entries of this flow.
    Remove(u64),
    /// The rules may have changed since packets of this connection passed them. Clear the mark's
    /// bits that say so, and report it with [`mark_cleared`](crate::FlowTable::mark_cleared).
    ClearMark(Connection),
}

/// State of a flow in the handshake.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OffloadState {
    /// The engine has not been asked to carry it.
    #[default]
    Idle,
    /// Conntrack has been asked to disable window tracking.
    Preparing,
    /// The engine has been asked to install its entries.
    Requested,
    /// Its entries are installed.
    Carried,
    /// It cannot be carried, for this reason.
    Refused(Reason),
}

/// Events of a flow in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing keeps the flow from being carried, and its packets have passed the rules.
    Eligible,
    /// Something keeps it from being carried, or it has ended.
    Ineligible,
    /// Conntrack has disabled window tracking.
    WindowTrackingDisabled,
    /// Conntrack could not disable it.
    WindowTrackingKept,
    /// The engine has installed the entries.
    Installed,
    /// The engine refused.
    Rejected(Reason),
    /// The engine removed the entries by itself. Without a reason the flow may be requested again.
    Removed(Option<Reason>),
    /// The network has changed: a reason to refuse may no longer hold.
    NetworkChanged,
    /// Packets arrived on another path.
    Active,
}

/// The request of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OffloadAction {
    DisableWindowTracking,
    Install,
    Remove,
}

impl OffloadAction {
    pub(crate) fn request(self, connection: Connection) -> OffloadRequest {
        match self {
            Self::DisableWindowTracking => OffloadRequest::DisableWindowTracking(connection),
            Self::Install => OffloadRequest::Install(connection),
            Self::Remove => OffloadRequest::Remove(connection.id),
        }
    }
}

impl OffloadState {
    /// The state after `event`, and the action to take.
    pub(crate) fn step(self, event: Event, proto: u8) -> (Self, Option<OffloadAction>) {
        match event {
            Event::Eligible => self.eligible(proto),
            Event::Ineligible => match self {
                Self::Requested | Self::Carried => (Self::Idle, Some(OffloadAction::Remove)),
                Self::Idle | Self::Preparing | Self::Refused(_) => (Self::Idle, None),
            },
            Event::WindowTrackingDisabled if self == Self::Preparing => {
                (Self::Requested, Some(OffloadAction::Install))
            }
            Event::WindowTrackingKept if self == Self::Preparing => {
                (Self::Refused(Reason::NotTaken), None)
            }
            Event::Installed if self == Self::Requested => (Self::Carried, None),
            Event::Rejected(reason) if self == Self::Requested => (Self::Refused(reason), None),
            Event::Removed(reason) => (reason.map_or(Self::Idle, Self::Refused), None),
            Event::NetworkChanged => match self {
                Self::Refused(_) => (Self::Idle, None),
                Self::Idle | Self::Preparing | Self::Requested | Self::Carried => (self, None),
            },
            // A flow that found the table full tries again as long as it sends.
            Event::Active if self == Self::Refused(Reason::TableFull) => (Self::Idle, None),
            // The outcome of a request that has been dropped since, or packets of another flow.
            Event::WindowTrackingDisabled
            | Event::WindowTrackingKept
            | Event::Installed
            | Event::Rejected(_)
            | Event::Active => (self, None),
        }
    }

    fn eligible(self, proto: u8) -> (Self, Option<OffloadAction>) {
        match self {
            Self::Idle if proto == TCP => {
                (Self::Preparing, Some(OffloadAction::DisableWindowTracking))
            }
            Self::Idle => (Self::Requested, Some(OffloadAction::Install)),
            Self::Preparing | Self::Requested | Self::Carried | Self::Refused(_) => (self, None),
        }
    }

    /// Whether it is requested or carried.
    pub(crate) fn is_active(self) -> bool {
        match self {
            Self::Preparing | Self::Requested | Self::Carried => true,
            Self::Idle | Self::Refused(_) => false,
        }
    }
}

/// Versions of the firewall's rules. A flow is installed only after its packets have passed the
/// rules in force in both directions, as bits of its mark show.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Those in force.
    current: u64,
    /// The oldest that are good enough for flows that are carried.
    carried: u64,
    /// Those that flows of the first dump have passed; 0: unknown.
    at_start: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { current: 1, carried: 1, at_start: 0 }
    }
}

impl Rules {
    /// The rules have changed. `carried`: flows that are carried have to pass them too.
    pub(crate) fn change(&mut self, carried: bool) {
        self.current += 1;
        if carried {
            self.carried = self.current;
        }
    }

    /// The rules are those that the previous daemon saw.
    pub(crate) fn unchanged_at_start(&mut self) {
        self.at_start = self.current;
    }

    /// The rules that the mark of a new connection stands for.
    pub(crate) fn of_new(&self) -> Passed {
        Passed { mark: self.current, cleared: 0 }
    }

    /// The rules that the mark of a connection found in the first dump stands for.
    pub(crate) fn of_first_dump(&self) -> Passed {
        Passed { mark: self.at_start, cleared: 0 }
    }
}

/// Which rules a flow has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Version of the rules that its mark stands for; 0: unknown.
    mark: u64,
    /// Version of the rules for which its mark was last to be cleared.
    cleared: u64,
}

impl Passed {
    /// Whether the flow has passed the rules in force. `marked`: its mark has the bits of both
    /// directions. A carried flow needs no mark: its packets do not meet the rules that set it.
    pub(crate) fn holds(self, rules: &Rules, state: OffloadState, marked: bool) -> bool {
        match state {
            OffloadState::Carried => self.mark >= rules.carried,
            OffloadState::Idle
            | OffloadState::Preparing
            | OffloadState::Requested
            | OffloadState::Refused(_) => marked && self.mark >= rules.current,
        }
    }

    /// Whether the mark has to be cleared because it stands for older rules: true once for each
    /// version.
    pub(crate) fn outdated(&mut self, rules: &Rules) -> bool {
        let due = self.mark < rules.current && self.cleared < rules.current;
        if due {
            self.cleared = rules.current;
        }
        due
    }

    /// The mark has been cleared: from now on it stands for the rules it was cleared for.
    pub(crate) fn cleared(&mut self) {
        self.mark = self.cleared;
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
