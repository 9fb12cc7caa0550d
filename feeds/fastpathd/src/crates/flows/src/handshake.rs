// SPDX-License-Identifier: GPL-2.0-or-later
//! Handshake between flow table and eBPF engine, a state machine per flow. Also tracks the version
//! of the firewall rules that a flow has passed. See `docs/design/offload-handshake.md`.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use model::Connection;

use crate::path::Reason;

/// Requests of the flow table to the eBPF engine and to conntrack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadRequest {
    /// Install waiting entries for this connection. Report the outcome with
    /// [`installed`](crate::FlowTable::installed).
    Install(Connection),
    /// Disable conntrack's TCP window tracking for this connection, which would reject packets that
    /// acknowledge data forwarded by eBPF. Look the connection up after all packets that missed the
    /// entries. Report the outcome with [`confirmed`](crate::FlowTable::confirmed).
    Confirm(Connection),
    Start(u64),
    Remove(u64),
    /// Clear the `passed` bits in the mark of this connection, because they may stand for older
    /// rules. Report the outcome with [`mark_cleared`](crate::FlowTable::mark_cleared) or
    /// [`mark_kept`](crate::FlowTable::mark_kept).
    ClearMark(Connection),
}

/// State of a flow in the handshake.
///
/// ```text
/// Idle ---Eligible---> Requested ---Installed---> Confirming ---Confirmed---> Offloaded
///  ^                       | Rejected                | Unconfirmed
///  |                       v                         v
///  +---NetworkChanged--- Refused <-------------------+
///  +---Active----------- Refused (table full, not taken)
/// ```
/// `Ineligible` leads to `Idle` from every state. `Removed` leads to `Idle` or, with a reason, to
/// `Refused`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OffloadState {
    #[default]
    Idle,
    Requested,
    /// The entries are waiting; the lookup of the connection is requested.
    Confirming,
    Offloaded,
    Refused(Reason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing prevents the offload, and the packets of the flow have passed the rules.
    Eligible,
    /// The flow must not be offloaded, or it has ended.
    Ineligible,
    Installed,
    /// Conntrack has the connection as established after the installation.
    Confirmed,
    /// Conntrack does not have the connection, or window tracking could not be disabled.
    Unconfirmed,
    Rejected(Reason),
    /// The engine has removed the entries. Without a reason, the flow may be requested again.
    Removed(Option<Reason>),
    /// The network has changed, which may resolve the reason of a refusal.
    NetworkChanged,
    /// Packets of the flow were forwarded by another path.
    Active,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OffloadAction {
    Install,
    Confirm,
    Start,
    Remove,
}

impl OffloadAction {
    pub(crate) fn request(self, connection: Connection) -> OffloadRequest {
        match self {
            Self::Install => OffloadRequest::Install(connection),
            Self::Confirm => OffloadRequest::Confirm(connection),
            Self::Start => OffloadRequest::Start(connection.id),
            Self::Remove => OffloadRequest::Remove(connection.id),
        }
    }
}

impl OffloadState {
    pub(crate) fn step(self, event: Event) -> (Self, Option<OffloadAction>) {
        match event {
            Event::Eligible if self == Self::Idle => {
                (Self::Requested, Some(OffloadAction::Install))
            }
            Event::Ineligible => match self {
                Self::Requested | Self::Confirming | Self::Offloaded => {
                    (Self::Idle, Some(OffloadAction::Remove))
                }
                Self::Idle | Self::Refused(_) => (Self::Idle, None),
            },
            Event::Installed if self == Self::Requested => {
                (Self::Confirming, Some(OffloadAction::Confirm))
            }
            Event::Rejected(reason) if self == Self::Requested => (Self::Refused(reason), None),
            Event::Confirmed if self == Self::Confirming => {
                (Self::Offloaded, Some(OffloadAction::Start))
            }
            Event::Unconfirmed if self == Self::Confirming => {
                (Self::Refused(Reason::NotTaken), Some(OffloadAction::Remove))
            }
            Event::Removed(reason) => (reason.map_or(Self::Idle, Self::Refused), None),
            Event::NetworkChanged => match self {
                Self::Refused(_) => (Self::Idle, None),
                Self::Idle | Self::Requested | Self::Confirming | Self::Offloaded => (self, None),
            },
            // Retry an active flow: the table may have free entries, and conntrack the connection.
            Event::Active
                if matches!(self, Self::Refused(Reason::TableFull | Reason::NotTaken)) =>
            {
                (Self::Idle, None)
            }
            // Late outcomes of a withdrawn request, and events without effect in this state.
            Event::Eligible
            | Event::Installed
            | Event::Rejected(_)
            | Event::Confirmed
            | Event::Unconfirmed
            | Event::Active => (self, None),
        }
    }

    pub(crate) fn is_active(self) -> bool {
        match self {
            Self::Requested | Self::Confirming | Self::Offloaded => true,
            Self::Idle | Self::Refused(_) => false,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RulesVersion(u64);

impl RulesVersion {
    const FIRST: Self = Self(1);
    /// Lower than any real version.
    const UNKNOWN: Self = Self(0);
}

/// Number of marks cleared before a reading of conntrack began. The reading may show the previous
/// value of marks cleared later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadingStart(u64);

/// Versions of the firewall rules. A flow is installed only after its packets have passed the rules
/// in force in both directions, as shown by bits of its mark.
///
/// Conntrack is read and changed over different sockets, so an old mark may arrive after the report
/// of a change. Therefore the mark of a new connection counts for the newest version whose earlier
/// events have all been read. A cleared mark counts for the version it was cleared for, and only in
/// readings that began afterwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    current: RulesVersion,
    /// Minimum version for offloaded flows.
    offloaded: RulesVersion,
    /// Version for marks of the first dump.
    at_start: RulesVersion,
    /// Newest version whose earlier events have all been read.
    events: RulesVersion,
    cleared: ReadingStart,
}

impl Default for Rules {
    fn default() -> Self {
        let first = RulesVersion::FIRST;
        Self {
            current: first,
            offloaded: first,
            at_start: RulesVersion::UNKNOWN,
            events: first,
            cleared: ReadingStart::default(),
        }
    }
}

impl Rules {
    /// Starts a new version. `offloaded` requires offloaded flows to pass it, too.
    pub(crate) fn change(&mut self, offloaded: bool) {
        self.current.0 += 1;
        if offloaded {
            self.offloaded = self.current;
        }
    }

    /// Records that the rules have not changed since the previous daemon.
    pub(crate) fn unchanged_at_start(&mut self) {
        self.at_start = self.current;
    }

    pub(crate) fn current(&self) -> RulesVersion {
        self.current
    }

    /// Returns the version in force if earlier events may still arrive.
    pub(crate) fn without_events(&self) -> Option<RulesVersion> {
        (self.events < self.current).then_some(self.current)
    }

    /// Records that all events from before this version have been read.
    pub(crate) fn events_read(&mut self, version: RulesVersion) {
        self.events = self.events.max(version);
    }

    pub(crate) fn reading_start(&self) -> ReadingStart {
        self.cleared
    }

    pub(crate) fn of_new(&self) -> Passed {
        Passed { mark: self.events, ..Passed::default() }
    }

    pub(crate) fn of_first_dump(&self) -> Passed {
        Passed { mark: self.at_start, ..Passed::default() }
    }
}

/// Version of the rules that a flow has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Version that the mark stands for.
    mark: RulesVersion,
    /// Version of the last request to clear the mark.
    asked: RulesVersion,
    /// Earliest reading that shows the mark as last cleared.
    since: ReadingStart,
}

impl Passed {
    /// Returns whether the flow has passed the rules in force. `marked`: the mark has the bits of
    /// both directions. An offloaded flow needs no mark, because its packets bypass the rules.
    pub(crate) fn holds(self, rules: &Rules, state: OffloadState, marked: bool) -> bool {
        match state {
            OffloadState::Offloaded => !self.is_revoked(rules),
            OffloadState::Idle
            | OffloadState::Requested
            | OffloadState::Confirming
            | OffloadState::Refused(_) => marked && self.mark >= rules.current,
        }
    }

    /// Returns whether the flow has not passed the rules that offloaded flows must have passed.
    pub(crate) fn is_revoked(self, rules: &Rules) -> bool {
        self.mark < rules.offloaded
    }

    /// Returns whether to request clearing the mark, which stands for older rules. Returns true
    /// once per version.
    pub(crate) fn outdated(&mut self, rules: &Rules) -> bool {
        let due = self.mark < rules.current && self.asked < rules.current;
        if due {
            self.asked = rules.current;
        }
        due
    }

    /// Records that the mark was cleared for `version`.
    pub(crate) fn cleared(&mut self, version: RulesVersion, rules: &mut Rules) {
        rules.cleared.0 += 1;
        self.since = rules.cleared;
        self.mark = self.mark.max(version);
    }

    /// Starts a new connection with the id of a previous one, which earlier readings may show.
    pub(crate) fn begin(&mut self, rules: &mut Rules) {
        rules.cleared.0 += 1;
        *self = Self { since: rules.cleared, ..rules.of_new() };
    }

    /// Records that the mark could not be cleared, so that clearing is requested again.
    pub(crate) fn kept(&mut self) {
        self.asked = self.mark;
    }

    /// Returns whether a reading shows the mark as last cleared.
    pub(crate) fn is_shown_by(self, start: ReadingStart) -> bool {
        start >= self.since
    }
}

#[cfg(test)]
mod tests;
