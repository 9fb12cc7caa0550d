// SPDX-License-Identifier: GPL-2.0-or-later
//! Handshake between flow table and eBPF engine, one state machine per flow, and the version of the
//! firewall rules that a flow has passed. See `docs/design/offload-handshake.md`.
//!
//! Pure: an event goes in; the next state and at most one action come out.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use model::Connection;

use crate::path::Reason;

/// Requests of the flow table to the eBPF engine and to conntrack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadRequest {
    /// Install inactive entries for this connection, and report the outcome with
    /// [`installed`](crate::FlowTable::installed).
    Install(Connection),
    /// Disable conntrack's TCP window tracking for this connection, look it up after all packets
    /// that missed the entries, and report the outcome with
    /// [`confirmed`](crate::FlowTable::confirmed). Window tracking would reject packets that
    /// acknowledge data forwarded by eBPF.
    Confirm(Connection),
    /// Let the entries of this flow forward packets.
    Start(u64),
    /// Remove the entries of this flow.
    Remove(u64),
    /// Clear the `passed` bits in the mark of this connection, because the rules may have changed
    /// since, and report with [`mark_cleared`](crate::FlowTable::mark_cleared) or
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
    /// The engine has no request for this flow.
    #[default]
    Idle,
    /// The engine was asked to install the entries.
    Requested,
    /// The entries are installed but inactive; conntrack was asked for the connection.
    Confirming,
    /// The entries forward packets.
    Offloaded,
    /// The flow cannot be offloaded, for this reason.
    Refused(Reason),
}

/// Events of a flow in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing prevents offloading, and the flow's packets have passed the rules.
    Eligible,
    /// The flow must not be offloaded, or it has ended.
    Ineligible,
    /// The engine has installed the entries.
    Installed,
    /// Conntrack reported the connection as established after the installation.
    Confirmed,
    /// Conntrack did not confirm, or window tracking could not be disabled.
    Unconfirmed,
    /// The engine refused to install the entries.
    Rejected(Reason),
    /// The engine removed the entries on its own. Without a reason the flow may be requested again.
    Removed(Option<Reason>),
    /// The network changed, so the reason of a refusal may no longer hold.
    NetworkChanged,
    /// Packets of the flow took another path.
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
    /// Returns the state after `event` and the action to take.
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
            // Retry while the flow sends: the table may have free entries, and conntrack may
            // answer.
            Event::Active
                if matches!(self, Self::Refused(Reason::TableFull | Reason::NotTaken)) =>
            {
                (Self::Idle, None)
            }
            // Stale outcomes of a withdrawn request, and events that change nothing in this state.
            Event::Eligible
            | Event::Installed
            | Event::Rejected(_)
            | Event::Confirmed
            | Event::Unconfirmed
            | Event::Active => (self, None),
        }
    }

    /// Returns whether the flow is requested or offloaded.
    pub(crate) fn is_active(self) -> bool {
        match self {
            Self::Requested | Self::Confirming | Self::Offloaded => true,
            Self::Idle | Self::Refused(_) => false,
        }
    }
}

/// Version of the firewall rules; later versions have higher numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RulesVersion(u64);

impl RulesVersion {
    const FIRST: Self = Self(1);
    /// Older than any real version.
    const UNKNOWN: Self = Self(0);
}

/// Number of marks known to be cleared when a reading of conntrack began. The reading may still
/// show the old value of marks cleared later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadingStart(u64);

/// Versions of the firewall rules. A flow is installed only after its packets have passed the rules
/// in force in both directions, as the bits of its mark show.
///
/// Several sockets read conntrack and another one changes it, so a mark read before a change may
/// arrive after the change was reported. Therefore the mark of a new connection counts for the
/// newest rules with no older events left to read. A cleared mark counts for the rules it was
/// cleared for, and only in readings that began afterwards.
#[derive(Debug)]
pub(crate) struct Rules {
    current: RulesVersion,
    /// Oldest version that offloaded flows must have passed.
    offloaded: RulesVersion,
    /// Version that flows of the first dump have passed.
    at_start: RulesVersion,
    /// All events from before this version have been read.
    events: RulesVersion,
    /// Number of marks known to be cleared.
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
    /// Starts a new version; `offloaded` requires offloaded flows to pass it, too.
    pub(crate) fn change(&mut self, offloaded: bool) {
        self.current.0 += 1;
        if offloaded {
            self.offloaded = self.current;
        }
    }

    /// Records that the rules are the ones that the previous daemon saw.
    pub(crate) fn unchanged_at_start(&mut self) {
        self.at_start = self.current;
    }

    pub(crate) fn current(&self) -> RulesVersion {
        self.current
    }

    /// Returns the version in force while events from before it may still arrive.
    pub(crate) fn without_events(&self) -> Option<RulesVersion> {
        (self.events < self.current).then_some(self.current)
    }

    /// Records that all further events are from this version or a later one.
    pub(crate) fn events_read(&mut self, version: RulesVersion) {
        self.events = self.events.max(version);
    }

    /// Returns the start of a reading of conntrack that begins now.
    pub(crate) fn reading_start(&self) -> ReadingStart {
        self.cleared
    }

    /// Returns the rules that the mark of a new connection stands for.
    pub(crate) fn of_new(&self) -> Passed {
        Passed { mark: self.events, ..Passed::default() }
    }

    /// Returns the rules that the mark of a connection in the first dump stands for.
    pub(crate) fn of_first_dump(&self) -> Passed {
        Passed { mark: self.at_start, ..Passed::default() }
    }
}

/// Rules that a flow has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Version that the mark stands for.
    mark: RulesVersion,
    /// Version for which clearing the mark was last requested.
    asked: RulesVersion,
    /// Readings that began before this may show the mark before it was cleared.
    since: ReadingStart,
}

impl Passed {
    /// Returns whether the flow has passed the rules in force. `marked`: the mark has the bits of
    /// both directions. An offloaded flow needs no mark, because its packets bypass the rules that
    /// set it.
    pub(crate) fn holds(self, rules: &Rules, state: OffloadState, marked: bool) -> bool {
        match state {
            OffloadState::Offloaded => self.mark >= rules.offloaded,
            OffloadState::Idle
            | OffloadState::Requested
            | OffloadState::Confirming
            | OffloadState::Refused(_) => marked && self.mark >= rules.current,
        }
    }

    /// Returns whether the mark must be cleared because it stands for older rules; true once per
    /// version.
    pub(crate) fn outdated(&mut self, rules: &Rules) -> bool {
        let due = self.mark < rules.current && self.asked < rules.current;
        if due {
            self.asked = rules.current;
        }
        due
    }

    /// Records that the mark was cleared after `version` came into force and now stands for it.
    pub(crate) fn cleared(&mut self, version: RulesVersion, rules: &mut Rules) {
        rules.cleared.0 += 1;
        self.since = rules.cleared;
        self.mark = self.mark.max(version);
    }

    /// Starts a new connection: its mark stands for the rules of its first event, and earlier
    /// readings may show the previous connection.
    pub(crate) fn begin(&mut self, rules: &mut Rules) {
        rules.cleared.0 += 1;
        *self = Self { since: rules.cleared, ..rules.of_new() };
    }

    /// Allows another request, because the mark could not be cleared.
    pub(crate) fn kept(&mut self) {
        self.asked = self.mark;
    }

    /// Returns whether a reading with this start shows the mark as last cleared.
    pub(crate) fn is_shown_by(self, start: ReadingStart) -> bool {
        start >= self.since
    }
}

#[cfg(test)]
mod tests;
