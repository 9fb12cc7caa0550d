// SPDX-License-Identifier: GPL-2.0-or-later
//! Looks up routes in the kernel, one batch at a time, so that a burst of changes causes one
//! lookup. Pauses until the next second after a failure.

use topology::{RouteAnswer, RouteBatch, RouteQuery};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::network::Effect;

/// State of the route lookups.
///
/// ```text
/// Ready ── ask_routes ──▶ Asking ── answered ──▶ Ready
///                         Asking ── failed ──▶ Failed ── next second ──▶ Ready
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The kernel may be asked.
    #[default]
    Ready,
    /// A batch has not been answered yet.
    Asking,
    /// The last batch could not be answered.
    Failed,
}

impl Core {
    /// Requests the route lookups that are due, unless a batch is under way or has failed.
    pub(crate) fn ask_routes(&mut self) -> Option<AnyEffect> {
        let network = &mut self.network;
        match network.lookup {
            Lookup::Ready => {
                let batch = network.view.topology().route_questions()?;
                network.lookup = Lookup::Asking;
                Some(AnyEffect::Network(Effect::AskRoutes(batch)))
            }
            Lookup::Asking | Lookup::Failed => None,
        }
    }

    /// Retries after a failure. Called once a second.
    pub(crate) fn routes_second(&mut self) -> Option<AnyEffect> {
        if self.network.lookup == Lookup::Failed {
            self.network.lookup = Lookup::Ready;
        }
        self.ask_routes()
    }

    /// Handles the kernel's answers; `None` if it could not be asked. Flows with another route
    /// leave the engine, and flows that waited for an answer may be offloaded.
    pub(crate) fn routes_answered(
        &mut self,
        batch: &RouteBatch,
        answers: Option<Vec<(RouteQuery, RouteAnswer)>>,
    ) -> Vec<AnyEffect> {
        let network = &mut self.network;
        network.lookup = if answers.is_some() { Lookup::Ready } else { Lookup::Failed };
        let moved = network.view.routes_answered(batch, &answers.unwrap_or_default());
        let flows = self.conntrack.flows_mut();
        if moved {
            flows.routes_changed(self.now, network.view());
        }
        flows.routes_answered(self.now, network.view());
        self.serve_ebpf()
    }
}
