// SPDX-License-Identifier: GPL-2.0-or-later
//! Inspection as it affects flows: which connections go to Suricata (policies in order, exempt
//! networks, default action), and a flow's inspection status from its mark. The nftables rules for
//! it are in crate `ruleset`, `rules/inspect.rs`.

use std::net::IpAddr;

use config::Network;
use model::{Action, DevicePolicy, Gate};
use serde::{Deserialize, Serialize};

use crate::network::Side;

/// The inspection in force. The default inspects nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InspectionState {
    /// Action for packets to inspect; none: no rule matches our marks.
    pub gate: Option<Gate>,
    /// Bit of the connection mark: bypassed by Suricata.
    pub bypass: u32,
    /// Bit of the connection mark: the budget is spent.
    pub spent: u32,
    /// The first entry that matches applies.
    pub policies: Vec<DevicePolicy>,
    /// Action for connections that no entry matches.
    pub default: Action,
    /// Networks that are never inspected, on either end, regardless of the policy.
    pub exempt: Vec<Network>,
    /// Bytes of a connection, both directions, after which inspection ends; 0: no limit.
    pub budget_bytes: u64,
    /// Packets of a connection, likewise.
    pub budget_packets: u64,
}

impl InspectionState {
    /// Action of the policy for a connection between these devices. `ends`: their addresses at the
    /// forward hook, after destination and before source NAT. An end without a route has no device:
    /// only entries for any device match.
    #[must_use]
    pub fn action(
        &self,
        initiator: Option<&Side>,
        responder: Option<&Side>,
        ends: [IpAddr; 2],
    ) -> Action {
        if self.gate.is_none() {
            return Action::None;
        }
        if self.exempt.iter().any(|network| ends.iter().any(|end| network.contains(*end))) {
            return Action::None;
        }
        let [from, to] = [initiator, responder].map(|side| side.map_or("", |side| &*side.device));
        let line = self.policies.iter().find(|policy| policy.matches(from, to));
        line.map_or(self.default, |policy| policy.action)
    }

    /// Inspection state of a connection, from the action of the policy, its mark and whether a
    /// flowtable carries its packets past our rules.
    #[must_use]
    pub fn standing(&self, action: Action, mark: u32, offloaded: bool) -> InspectionStatus {
        let Some(gate) = self.gate else { return InspectionStatus::None };
        let done = match action {
            Action::None => return InspectionStatus::None,
            Action::Always => None,
            Action::Inspect if mark & self.bypass != 0 => Some(InspectionStatus::Bypassed),
            Action::Inspect => (mark & self.spent != 0).then_some(InspectionStatus::Spent),
        };
        done.unwrap_or(match gate {
            _ if offloaded => InspectionStatus::Uninspected,
            Gate::Queue if action == Action::Always => InspectionStatus::Always,
            Gate::Queue => InspectionStatus::Inspecting,
            Gate::Open => InspectionStatus::Uninspected,
            Gate::Closed => InspectionStatus::Stopped,
        })
    }
}

config::named! {
    /// Inspection state of a flow.
    #[derive(Default, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum InspectionStatus {
        /// Not to be inspected.
        #[default]
        None = "none",
        /// Its packets wait for Suricata's verdict, until it is bypassed or the budget is spent.
        Inspecting = "inspecting",
        /// Its packets wait for Suricata's verdict until its end.
        Always = "always",
        /// Ended: bypassed by Suricata.
        Bypassed = "bypassed",
        /// Ended: the budget is spent.
        Spent = "spent",
        /// Should be inspected, but is not: Suricata is not running, or another flowtable
        /// carries it.
        Uninspected = "uninspected",
        /// Should be inspected; its packets are dropped until Suricata runs again.
        Stopped = "stopped",
    }
}

impl InspectionStatus {
    /// Whether it was inspected and no longer is.
    #[must_use]
    pub const fn over(self) -> bool {
        matches!(self, Self::Bypassed | Self::Spent)
    }
}
