// SPDX-License-Identifier: GPL-2.0-or-later
//! Evaluates the inspection policy, and derives the inspection status of a flow from its mark. Must
//! match the nftables rules in `rules/inspect.rs` of crate `ruleset`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use config::Network;
use model::{Action, DevicePolicy, Gate};
use serde::{Deserialize, Serialize};

use crate::engine::has_end;
use crate::network::Side;

/// Inspection settings in force. The default inspects nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InspectionState {
    /// Action for packets to inspect; `None` if there are no inspection rules.
    pub gate: Option<Gate>,
    /// Bit of the connection mark: Suricata bypassed the connection.
    pub bypass: u32,
    /// Bit of the connection mark: the budget is spent.
    pub spent: u32,
    pub policies: Vec<DevicePolicy>,
    pub default: Action,
    pub exempt: Vec<Network>,
    /// Hosts that are always inspected, and hosts that are never inspected unless the other end is
    /// one of the former.
    pub hosts: [BTreeSet<IpAddr>; 2],
    /// Bytes of both directions after which inspection ends; 0 for no limit.
    pub budget_bytes: u64,
    /// Packets of both directions after which inspection ends; 0 for no limit.
    pub budget_packets: u64,
}

impl InspectionState {
    /// Returns the action for a connection between these sides. `ends` are the addresses at the
    /// forward hook, after destination NAT and before source NAT. A side without a route matches
    /// only policies for any device.
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
        let [always, never] = [0, 1].map(|i| has_end(&self.hosts[i], ends));
        if always || never {
            return if always { Action::Always } else { Action::None };
        }
        if self.exempt.iter().any(|network| ends.iter().any(|end| network.contains(*end))) {
            return Action::None;
        }
        let [from, to] = [initiator, responder].map(|side| side.map_or("", |side| &*side.device));
        let line = self.policies.iter().find(|policy| policy.matches(from, to));
        line.map_or(self.default, |policy| policy.action)
    }

    /// Returns the inspection status of a flow. `offloaded`: a flowtable forwards the packets, so
    /// they bypass our rules.
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
    #[derive(Default, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum InspectionStatus {
        /// The policy does not inspect the flow.
        #[default]
        None = "none",
        /// Suricata decides on each packet until the flow is bypassed or its budget is spent.
        Inspecting = "inspecting",
        /// Suricata decides on each packet until the flow ends.
        Always = "always",
        Bypassed = "bypassed",
        Spent = "spent",
        /// Not inspected, because Suricata is not running or a flowtable offloads the flow.
        Uninspected = "uninspected",
        /// Packets are dropped until Suricata runs.
        Stopped = "stopped",
    }
}

impl InspectionStatus {
    #[must_use]
    pub const fn over(self) -> bool {
        matches!(self, Self::Bypassed | Self::Spent)
    }
}
