// SPDX-License-Identifier: GPL-2.0-or-later
//! Route of a flow that depends on more than its destination.

use model::{NextHop, Routing};

#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowRoute {
    pub(crate) routing: Routing,
    /// Connection mark at the time of the lookup.
    pub(crate) mark: u32,
    /// The flow is queued for a kernel route lookup.
    pub(crate) waits: bool,
}

impl FlowRoute {
    /// Returns `None` for a route that depends only on the destination.
    pub(crate) fn new(routing: Routing, mark: u32) -> Option<Box<Self>> {
        match routing {
            Routing::Destination => None,
            Routing::Asked | Routing::Kernel { .. } | Routing::Vrf { .. } | Routing::Unknown => {
                Some(Box::new(Self { routing, mark, waits: false }))
            }
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        match self.routing {
            Routing::Asked
            | Routing::Kernel { current: false, .. }
            | Routing::Vrf { current: false, .. } => true,
            Routing::Destination
            | Routing::Kernel { current: true, .. }
            | Routing::Vrf { current: true, .. }
            | Routing::Unknown => false,
        }
    }

    pub(crate) fn hops(&self) -> Option<[NextHop; 2]> {
        self.routing.hops()
    }
}
