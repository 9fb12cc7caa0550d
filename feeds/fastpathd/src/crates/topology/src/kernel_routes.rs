// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's answers about packets, at most 16,384 of them: which are out of date after a
//! change, which are to be asked for, and which are dropped when there are too many (those that
//! were not used for longest).

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;

use config::Network;

use crate::change::Change;
use crate::lookup::{RouteAnswer, RouteQuery};

/// Answers in each of the two halves: those used lately, and those before.
const HALF: usize = 8192;

/// Questions to be put to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteBatch {
    /// The questions, each once.
    pub queries: Vec<RouteQuery>,
    /// Changes of the network before they were put.
    asked: u64,
}

/// The answers that a change of the network may alter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// None.
    Nothing,
    /// About packets to this network.
    To(Network),
    /// Any, if the model has changed with it.
    AllIfChanged,
    /// Any: it may be about tables that are not in the model.
    All,
    /// Any, if the model has changed with it. Flows are all looked up again then, and those that
    /// still need an answer ask for it.
    Rules,
}

impl Reach {
    pub(crate) fn of(change: &Change) -> Self {
        match change {
            Change::Route(route) | Change::RouteReplaced(route) | Change::RouteGone(route) => {
                Self::To(Network { address: route.network, prefix: route.prefix })
            }
            Change::Full(_) | Change::Routes(_) => Self::All,
            Change::Link(_) | Change::LinkGone(_) | Change::Address(_) | Change::AddressGone(_) => {
                Self::AllIfChanged
            }
            Change::Rules(_) => Self::Rules,
            Change::BridgeVlans(_)
            | Change::Neighbour(_)
            | Change::NeighbourGone(..)
            | Change::Fdb(_)
            | Change::FdbGone(_)
            | Change::Queues(_)
            | Change::Pppoe(..) => Self::Nothing,
        }
    }
}

/// An answer, or that it was asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    answer: Option<RouteAnswer>,
    current: bool,
    /// Is among the questions, or with the kernel.
    wanted: bool,
    /// Nothing has looked it up since the rules changed.
    unused: bool,
    /// The last change that may have altered it.
    changed: u64,
}

#[derive(Debug, Clone, Default)]
struct Cache {
    recent: HashMap<RouteQuery, Known>,
    former: HashMap<RouteQuery, Known>,
    questions: Vec<RouteQuery>,
    changes: u64,
}

/// The kernel's answers. Looking one up asks for it where it is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct KernelRoutes(RefCell<Cache>);

impl KernelRoutes {
    /// The answer, and whether nothing has changed since.
    pub(crate) fn find(&self, query: &RouteQuery) -> Option<(RouteAnswer, bool)> {
        let cache = &mut *self.0.borrow_mut();
        if !cache.recent.contains_key(query) {
            let known = cache.former.remove(query).unwrap_or_default();
            cache.insert(*query, known);
        }
        let known = cache.recent.get_mut(query)?;
        known.unused = false;
        if known.ask() {
            cache.questions.push(*query);
        }
        known.answer.map(|answer| (answer, known.current))
    }

    /// The questions since the last call.
    pub(crate) fn questions(&self) -> Option<RouteBatch> {
        let cache = &mut *self.0.borrow_mut();
        let queries = std::mem::take(&mut cache.questions);
        (!queries.is_empty()).then_some(RouteBatch { queries, asked: cache.changes })
    }

    /// The kernel's answers to a batch; none: it could not be asked. Whether one of them differs
    /// from the answer before.
    pub(crate) fn answered(
        &mut self,
        batch: &RouteBatch,
        answers: &[(RouteQuery, RouteAnswer)],
    ) -> bool {
        let cache = self.0.get_mut();
        let mut moved = false;
        for query in &batch.queries {
            if let Some(known) = cache.get_mut(query) {
                known.wanted = false;
            }
        }
        for (query, answer) in answers {
            let Some(known) = cache.get_mut(query) else { continue };
            moved |= known.answer.is_some_and(|before| before != *answer);
            known.answer = Some(*answer);
            // A change meanwhile: the kernel may have answered before it.
            known.current = known.changed <= batch.asked;
        }
        let again = batch.queries.iter();
        let again: Vec<RouteQuery> =
            again.filter(|query| cache.get_mut(query).is_some_and(Known::ask)).copied().collect();
        cache.questions.extend(again);
        moved
    }

    /// Answers that a change may have altered are asked for again. `changed`: the model has
    /// changed with it.
    pub(crate) fn outdate(&mut self, reach: Reach, changed: bool) {
        let cache = self.0.get_mut();
        match reach {
            Reach::To(network) => cache.outdate(|to| network.contains(to)),
            Reach::All => cache.outdate(|_| true),
            Reach::AllIfChanged if changed => cache.outdate(|_| true),
            Reach::Rules if changed => {
                cache.all().for_each(|(_, known)| known.unused = true);
                cache.outdate(|_| true);
            }
            Reach::AllIfChanged | Reach::Rules | Reach::Nothing => {}
        }
    }
}

impl Known {
    /// Whether it has to be put among the questions, where it counts as from now on.
    fn ask(&mut self) -> bool {
        let ask = !self.current && !self.wanted && !self.unused;
        self.wanted |= ask;
        ask
    }
}

impl Cache {
    fn get_mut(&mut self, query: &RouteQuery) -> Option<&mut Known> {
        self.recent.get_mut(query).or_else(|| self.former.get_mut(query))
    }

    fn insert(&mut self, query: RouteQuery, known: Known) {
        if self.recent.len() == HALF {
            self.former = std::mem::take(&mut self.recent);
            // Dropped answers are not asked for.
            let (recent, former) = (&self.recent, &self.former);
            self.questions.retain(|one| recent.contains_key(one) || former.contains_key(one));
        }
        self.recent.insert(query, known);
    }

    fn all(&mut self) -> impl Iterator<Item = (&RouteQuery, &mut Known)> {
        self.recent.iter_mut().chain(&mut self.former)
    }

    fn outdate(&mut self, touches: impl Fn(IpAddr) -> bool) {
        self.changes += 1;
        let mut asked = Vec::new();
        let changes = self.changes;
        for (query, known) in self.all().filter(|(query, _)| touches(query.to)) {
            (known.current, known.changed) = (false, changes);
            if known.ask() {
                asked.push(*query);
            }
        }
        self.questions.extend(asked);
    }
}

#[cfg(test)]
#[path = "kernel_routes_tests.rs"]
mod tests;
