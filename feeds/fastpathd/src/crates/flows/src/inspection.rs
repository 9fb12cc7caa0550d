// SPDX-License-Identifier: GPL-2.0-or-later
//! Intrusion prevention, as far as it decides about flows: whose packets go to Suricata.

use std::collections::BTreeSet;
use std::net::IpAddr;

use config::Network;
use serde::{Deserialize, Serialize};

use crate::network::Side;

/// What the policy wants for a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Action {
    /// No inspection.
    #[default]
    None,
    /// Inspection until Suricata has seen enough or the budget is spent.
    Inspect,
    /// Inspection of every packet, never offloaded.
    Always,
}

/// What becomes of packets that are to be inspected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Nothing is inspected: no rule looks at our marks.
    #[default]
    Off,
    /// They go to Suricata.
    Queue,
    /// Suricata is away: they pass without inspection, on the slow path.
    Open,
    /// Suricata is away: they are dropped.
    Closed,
}

/// One line of the policy: connections between devices, by who opened them. As the rules see
/// them: layer 3 devices, such as `br-lan.10` or `pppoe-wan`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Devices that the opener is behind; `None`: any.
    pub from: Option<BTreeSet<String>>,
    /// Devices that the other end is behind; `None`: any.
    pub to: Option<BTreeSet<String>>,
    /// What happens to the connection.
    pub action: Action,
}

impl Policy {
    fn matches(&self, from: &str, to: &str) -> bool {
        let among = |devices: &Option<BTreeSet<String>>, device: &str| {
            devices.as_ref().is_none_or(|devices| devices.contains(device))
        };
        among(&self.from, from) && among(&self.to, to)
    }
}

/// The inspection in force. The default inspects nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InspectionState {
    /// What becomes of packets that are to be inspected.
    pub gate: Gate,
    /// Bit of the connection mark: Suricata has seen enough.
    pub bypass: u32,
    /// Bit of the connection mark: the budget is spent.
    pub spent: u32,
    /// The first line that matches decides.
    pub policies: Vec<Policy>,
    /// What happens to connections that no line matches.
    pub default: Action,
    /// Never inspected, whichever end is in there, whatever the policy says.
    pub exempt: Vec<Network>,
    /// Bytes of a connection, both directions, after which it leaves; 0: no such budget.
    pub budget_bytes: u64,
    /// Packets, likewise.
    pub budget_packets: u64,
}

impl InspectionState {
    /// What the policy wants for a connection from behind `initiator` to behind `responder`.
    /// `ends`: their addresses as the forward hook sees them, after destination and before
    /// source NAT. An end without a route is behind no device: only lines for any device match.
    #[must_use]
    pub fn action(
        &self,
        initiator: Option<&Side>,
        responder: Option<&Side>,
        ends: [IpAddr; 2],
    ) -> Action {
        if self.gate == Gate::Off {
            return Action::None;
        }
        if self.exempt.iter().any(|network| ends.iter().any(|end| network.contains(*end))) {
            return Action::None;
        }
        let [from, to] = [initiator, responder].map(|side| side.map_or("", |side| &*side.device));
        let line = self.policies.iter().find(|policy| policy.matches(from, to));
        line.map_or(self.default, |policy| policy.action)
    }

    /// How a connection stands with inspection, given what the policy wants for it, its mark and
    /// whether packets take a flowtable past our rules.
    #[must_use]
    pub fn standing(&self, action: Action, mark: u32, offloaded: bool) -> Inspection {
        let done = match action {
            _ if self.gate == Gate::Off => return Inspection::None,
            Action::None => return Inspection::None,
            Action::Always => None,
            Action::Inspect if mark & self.bypass != 0 => Some(Inspection::Bypassed),
            Action::Inspect => (mark & self.spent != 0).then_some(Inspection::Spent),
        };
        done.unwrap_or(match self.gate {
            _ if offloaded => Inspection::Uninspected,
            Gate::Queue if action == Action::Always => Inspection::Always,
            Gate::Off | Gate::Queue => Inspection::Inspecting,
            Gate::Open => Inspection::Uninspected,
            Gate::Closed => Inspection::Stopped,
        })
    }
}

/// How a flow stands with inspection.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Inspection {
    /// Not to be inspected.
    #[default]
    None,
    /// Its packets wait for Suricata's verdict, until it has seen enough or the budget is spent.
    Inspecting,
    /// Its packets wait for Suricata's verdict as long as it lives.
    Always,
    /// Over: Suricata had seen enough.
    Bypassed,
    /// Over: the budget is spent.
    Spent,
    /// To be inspected, but it passes without: Suricata is away, or a flowtable carries it that
    /// does not know.
    Uninspected,
    /// To be inspected; its packets are dropped until Suricata is back.
    Stopped,
}

impl Inspection {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Inspecting,
        Self::Always,
        Self::Bypassed,
        Self::Spent,
        Self::Uninspected,
        Self::Stopped,
    ];

    /// The stable name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Inspecting => "inspecting",
            Self::Always => "always",
            Self::Bypassed => "bypassed",
            Self::Spent => "spent",
            Self::Uninspected => "uninspected",
            Self::Stopped => "stopped",
        }
    }

    /// The one with this stable name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|inspection| inspection.word() == word)
    }

    /// Whether it was inspected and no longer is.
    #[must_use]
    pub const fn over(self) -> bool {
        matches!(self, Self::Bypassed | Self::Spent)
    }
}
