// SPDX-License-Identifier: GPL-2.0-or-later
//! Types shared by the rule set, the flow table, inspection and the eBPF engine.

mod connection;
mod engine;
mod exclude;
mod inspection;
mod packet_rule;
mod policy;
mod routing;
mod traffic;
mod tuple_hash;

pub use connection::Connection;
pub use engine::Engine;
pub use exclude::{Exclude, Ports};
pub use inspection::{Action, FailPolicy, Gate, InspectionMode, Spread};
pub use packet_rule::{Condition, FlowFacts, NatStage, Outcome, PacketChain, RuleName, Step, Test};
pub use policy::DevicePolicy;
pub use routing::{NextHop, Routing};
pub use traffic::{TrafficType, TrafficTypes};
pub use tuple_hash::{MODULUS, SEED, tuple_hash};
