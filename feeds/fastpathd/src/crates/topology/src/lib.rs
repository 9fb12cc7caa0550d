// SPDX-License-Identifier: GPL-2.0-or-later
//! The network of this machine as one model: links, bridges and their VLANs, `PPPoE` sessions,
//! addresses, routes, neighbours and forwarding databases.
//!
//! [`Topology`] is pure: it is fed [`Change`]s and answers questions. [`Watcher`] reads the
//! kernel and yields those changes.

mod change;
mod model;
mod side;
mod types;
mod watcher;

pub use change::Change;
pub use model::{BridgeView, PortVlans, PppoeView, Topology};
pub use side::{LowestDevice, Side, SideKind};
pub use types::{
    Address, BridgeVlan, FdbEntry, Link, LinkKind, Mac, Name, Neighbour, NeighbourState, PortVlan,
    PppoeSession, Route, RouteKind,
};
pub use watcher::{WatchError, Watcher};
