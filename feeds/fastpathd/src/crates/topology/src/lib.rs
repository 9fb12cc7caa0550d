// SPDX-License-Identifier: GPL-2.0-or-later
//! Model of this machine's network: links, bridges and VLANs, `PPPoE` sessions, addresses, routes,
//! neighbours and forwarding databases.
//!
//! [`Topology`] is pure: it applies [`Change`]s and answers queries. [`Watcher`] reads the changes
//! from the kernel.

mod change;
mod decode;
mod encapsulation;
#[cfg(test)]
mod fixture;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod kernel_routes;
mod link_kind;
mod link_path;
mod lookup;
mod lookup_socket;
mod lowest;
mod model;
mod own;
mod policy;
mod pppoe;
mod prefix;
mod read;
#[cfg(test)]
mod recording;
mod routes;
mod routing;
mod rules;
mod selectors;
mod shaped;
mod side;
mod table;
mod types;
mod view;
mod watcher;

pub use change::Change;
pub use decode::is_default_queue;
pub use kernel_routes::RouteBatch;
pub use link_path::{LinkPath, PathError, VlanTag};
pub use lookup::{Layer4, RouteAnswer, RouteQuery};
pub use lookup_socket::{LookupError, RouteLookup};
pub use lowest::{LinkReason, LowestDevice, is_link_local};
pub use model::Topology;
pub use pppoe::{parse_dialer, parse_sessions};
pub use read::ReadError;
pub use rules::{RoutingRule, RuleAction};
pub use selectors::{Mark, Selectors};
pub use shaped::{QueueUse, bypassed_queue};
pub use side::{AddressSide, SideKind};
pub use types::{
    Address, BridgeVlan, Dialer, FdbEntry, Link, LinkKind, Mac, MacError, Name, Neighbour,
    NeighbourState, PortVlan, PppoeSession, QueueingDiscipline, Route, RouteKind, VlanPriorities,
};
pub use view::{BridgeView, PortVlans, PppoeView};
pub use watcher::{WatchError, Watcher};
