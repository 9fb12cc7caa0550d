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
    /// bits that say so, and report it with [`mark_cleared`](crate::FlowTable::mark_cleared) or
    /// [`mark_kept`](crate::FlowTable::mark_kept).
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

/// A version of the firewall's rules: a later one has a higher number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RulesVersion(u64);

impl RulesVersion {
    const FIRST: Self = Self(1);
    /// Older than any.
    const UNKNOWN: Self = Self(0);
}

/// Where a reading of conntrack began: after so many marks were known to be cleared. The others may
/// be from before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadingStart(u64);

/// Versions of the firewall's rules. A flow is installed only after its packets have passed the
/// rules in force in both directions, as bits of its mark show.
///
/// Conntrack is read by several sockets, and changed by another one: a mark that was read before a
/// change may be passed in after the change was reported. So each permission has to be later than
/// the rules: the mark of a new connection counts for the rules whose predecessors' events have all
/// been read, a mark that was cleared counts for the rules for which it was cleared, and only as a
/// reading shows it that began afterwards.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Those in force.
    current: RulesVersion,
    /// The oldest that are good enough for flows that are carried.
    carried: RulesVersion,
    /// Those that flows of the first dump have passed.
    at_start: RulesVersion,
    /// All events from before these were in force have been read.
    events: RulesVersion,
    /// How many marks are known to be cleared.
    cleared: ReadingStart,
}

impl Default for Rules {
    fn default() -> Self {
        let first = RulesVersion::FIRST;
        Self {
            current: first,
            carried: first,
            at_start: RulesVersion::UNKNOWN,
            events: first,
            cleared: ReadingStart::default(),
        }
    }
}

impl Rules {
    /// The rules have changed. `carried`: flows that are carried have to pass them too.
    pub(crate) fn change(&mut self, carried: bool) {
        self.current.0 += 1;
        if carried {
            self.carried = self.current;
        }
    }

    /// The rules are those that the previous daemon saw.
    pub(crate) fn unchanged_at_start(&mut self) {
        self.at_start = self.current;
    }

    /// Those in force.
    pub(crate) fn current(&self) -> RulesVersion {
        self.current
    }

    /// Those in force, if events from before them may still be passed in.
    pub(crate) fn without_events(&self) -> Option<RulesVersion> {
        (self.events < self.current).then_some(self.current)
    }

    /// Events that are passed in from now on are from these rules or later ones.
    pub(crate) fn events_read(&mut self, version: RulesVersion) {
        self.events = self.events.max(version);
    }

    /// The start of a reading of conntrack that begins now.
    pub(crate) fn reading_start(&self) -> ReadingStart {
        self.cleared
    }

    /// The rules that the mark of a new connection stands for.
    pub(crate) fn of_new(&self) -> Passed {
        Passed { mark: self.events, ..Passed::default() }
    }

    /// The rules that the mark of a connection found in the first dump stands for.
    pub(crate) fn of_first_dump(&self) -> Passed {
        Passed { mark: self.at_start, ..Passed::default() }
    }
}

/// Which rules a flow has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// The rules that its mark stands for.
    mark: RulesVersion,
    /// The rules for which its mark was last to be cleared.
    asked: RulesVersion,
    /// Readings that began before this may show its mark as it was before it was cleared.
    since: ReadingStart,
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
        let due = self.mark < rules.current && self.asked < rules.current;
        if due {
            self.asked = rules.current;
        }
        due
    }

    /// The mark has been cleared, after these rules came into force: from now on it stands for
    /// them.
    pub(crate) fn cleared(&mut self, version: RulesVersion, rules: &mut Rules) {
        rules.cleared.0 += 1;
        self.since = rules.cleared;
        self.mark = self.mark.max(version);
    }

    /// The mark could not be cleared: it may be asked for again.
    pub(crate) fn kept(&mut self) {
        self.asked = self.mark;
    }

    /// Whether a reading that began there shows the mark as it is since it was last cleared.
    pub(crate) fn is_shown_by(self, start: ReadingStart) -> bool {
        start >= self.since
    }
}

#[cfg(test)]
#[path = "handshake_tests.rs"]
mod tests;
