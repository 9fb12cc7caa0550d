// SPDX-License-Identifier: GPL-2.0-or-later
//! The handshake between flow table and eBPF engine, one state machine for each flow: installation,
//! window tracking off, confirmation by conntrack, start, refusal, when a refused flow is requested
//! again. Also which version of the firewall's rules a flow has passed.
//!
//! `docs/design/offload-handshake.md` draws it. Nothing here knows of the table or the engine:
//! an event goes in, the next state and at most one action come out.
#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]

use model::Connection;

use crate::path::Reason;

/// Requests of the flow table to the eBPF engine and to conntrack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadRequest {
    /// Install the entries of this connection, which wait, and report the outcome with
    /// [`installed`](crate::FlowTable::installed).
    Install(Connection),
    /// Disable conntrack's TCP window tracking for this connection, look it up after all packets
    /// that met no entry, and report the outcome with [`confirmed`](crate::FlowTable::confirmed).
    /// With window tracking on, conntrack would take packets for invalid that acknowledge what the
    /// programs have carried.
    Confirm(Connection),
    /// Let the entries of this flow carry packets.
    Start(u64),
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
    /// The engine has been asked to install its entries.
    Requested,
    /// Its entries are installed and wait; conntrack has been asked for the connection.
    Confirming,
    /// Its entries carry packets.
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
    /// The engine has installed the entries.
    Installed,
    /// Conntrack has shown the connection as established since then.
    Confirmed,
    /// Conntrack has not, or window tracking could not be disabled.
    Unconfirmed,
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
    /// The state after `event`, and the action to take.
    pub(crate) fn step(self, event: Event) -> (Self, Option<OffloadAction>) {
        match event {
            Event::Eligible if self == Self::Idle => {
                (Self::Requested, Some(OffloadAction::Install))
            }
            Event::Ineligible => match self {
                Self::Requested | Self::Confirming | Self::Carried => {
                    (Self::Idle, Some(OffloadAction::Remove))
                }
                Self::Idle | Self::Refused(_) => (Self::Idle, None),
            },
            Event::Installed if self == Self::Requested => {
                (Self::Confirming, Some(OffloadAction::Confirm))
            }
            Event::Rejected(reason) if self == Self::Requested => (Self::Refused(reason), None),
            Event::Confirmed if self == Self::Confirming => {
                (Self::Carried, Some(OffloadAction::Start))
            }
            Event::Unconfirmed if self == Self::Confirming => {
                (Self::Refused(Reason::NotTaken), Some(OffloadAction::Remove))
            }
            Event::Removed(reason) => (reason.map_or(Self::Idle, Self::Refused), None),
            Event::NetworkChanged => match self {
                Self::Refused(_) => (Self::Idle, None),
                Self::Idle | Self::Requested | Self::Confirming | Self::Carried => (self, None),
            },
            // The table may have room, and conntrack may answer, as long as the flow sends.
            Event::Active
                if matches!(self, Self::Refused(Reason::TableFull | Reason::NotTaken)) =>
            {
                (Self::Idle, None)
            }
            // The outcome of a request that has been dropped since, or packets of another flow.
            Event::Eligible
            | Event::Installed
            | Event::Rejected(_)
            | Event::Confirmed
            | Event::Unconfirmed
            | Event::Active => (self, None),
        }
    }

    /// Whether it is requested or carried.
    pub(crate) fn is_active(self) -> bool {
        match self {
            Self::Requested | Self::Confirming | Self::Carried => true,
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
            | OffloadState::Requested
            | OffloadState::Confirming
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

    /// The connection is new: its mark stands for the rules of its first event, and readings that
    /// began before this may show another connection.
    pub(crate) fn begin(&mut self, rules: &mut Rules) {
        rules.cleared.0 += 1;
        *self = Self { since: rules.cleared, ..rules.of_new() };
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
