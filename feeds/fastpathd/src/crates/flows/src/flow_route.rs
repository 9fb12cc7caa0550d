// SPDX-License-Identifier: GPL-2.0-or-later
//! How a flow is routed where more than its destination decides, and the mark with which that was
//! asked. Most flows have none of this.

use model::{NextHop, Routing};

/// How a flow is routed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowRoute {
    pub(crate) routing: Routing,
    /// The connection's mark when this was asked.
    pub(crate) mark: u32,
    /// It is among the flows that wait for the kernel's answer.
    pub(crate) waits: bool,
}

impl FlowRoute {
    /// None for a flow that is routed by its destination.
    pub(crate) fn new(routing: Routing, mark: u32) -> Option<Box<Self>> {
        match routing {
            Routing::Destination => None,
            Routing::Asked | Routing::Kernel { .. } | Routing::Vrf { .. } | Routing::Unknown => {
                Some(Box::new(Self { routing, mark, waits: false }))
            }
        }
    }

    /// Whether the kernel has been asked, and an answer is to come.
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
