// SPDX-License-Identifier: GPL-2.0-or-later
//! Questions to the kernel about routes: one batch at a time, so that answers after a burst of
//! changes are asked for once, and a pause until the next second after a failure.

use topology::{RouteAnswer, RouteBatch, RouteQuery};

use crate::core::Core;
use crate::effect::Effect as AnyEffect;
use crate::network::Effect;

/// Whether the kernel is being asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// It may be asked.
    #[default]
    Ready,
    /// A batch of questions has not been answered.
    Asking,
    /// The last batch could not be answered.
    Failed,
}

impl Core {
    /// Asks the questions that have come up.
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

    /// Once a second: asks again after a failure.
    pub(crate) fn routes_second(&mut self) -> Option<AnyEffect> {
        if self.network.lookup == Lookup::Failed {
            self.network.lookup = Lookup::Ready;
        }
        self.ask_routes()
    }

    /// The kernel's answers; none: it could not be asked. Flows that are routed otherwise than
    /// before leave the engine, those that waited for an answer may enter it.
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
