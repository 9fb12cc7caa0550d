// SPDX-License-Identifier: GPL-2.0-or-later
//! Cache of the kernel's answers to route look-ups, at most 16,384. Marks answers as stale after a
//! change, collects questions for the kernel, and evicts the least recently used answers.

use std::cell::RefCell;
use std::net::IpAddr;

use config::Network;
use hashbrown::HashMap;

use crate::change::Change;
use crate::lookup::{RouteAnswer, RouteQuery};

/// Capacity of `recent`, and of `former`.
const HALF: usize = 8192;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteBatch {
    /// Without duplicates.
    pub queries: Vec<RouteQuery>,
    /// Value of `Cache::changes` when the batch was created.
    asked: u64,
}

/// Scope of a change: the answers that it may alter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Nothing,
    /// Answers about packets to this network.
    To(Network),
    /// All answers, if the change altered the model.
    AllIfChanged,
    /// All answers, because the change may concern tables that are not in the model.
    All,
    /// Like `AllIfChanged`, but an answer is requested again only when a flow looks it up.
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

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    answer: Option<RouteAnswer>,
    current: bool,
    /// The query is queued or sent.
    wanted: bool,
    /// No flow has looked the answer up since the rules changed.
    unused: bool,
    /// Value of `Cache::changes` at the last change that may have altered the answer.
    changed: u64,
}

#[derive(Debug, Clone, Default)]
struct Cache {
    recent: HashMap<RouteQuery, Known>,
    former: HashMap<RouteQuery, Known>,
    questions: Vec<RouteQuery>,
    changes: u64,
}

/// Route cache; looking up a missing answer queues its query.
#[derive(Debug, Clone, Default)]
pub(crate) struct KernelRoutes(RefCell<Cache>);

impl KernelRoutes {
    /// Returns the answer, and whether it is current.
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

    pub(crate) fn questions(&self) -> Option<RouteBatch> {
        let cache = &mut *self.0.borrow_mut();
        let queries = std::mem::take(&mut cache.questions);
        (!queries.is_empty()).then_some(RouteBatch { queries, asked: cache.changes })
    }

    /// Stores the kernel's answers to a batch (empty if the kernel could not be asked). Returns
    /// whether an answer differs from the previous one.
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
            // The answer is stale if the network changed after the batch was created.
            known.current = known.changed <= batch.asked;
        }
        let again = batch.queries.iter();
        let again: Vec<RouteQuery> =
            again.filter(|query| cache.get_mut(query).is_some_and(Known::ask)).copied().collect();
        cache.questions.extend(again);
        moved
    }

    /// Marks the answers in the scope as stale and queues their queries. `changed` states whether
    /// the change altered the model.
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
    /// Returns whether the caller must queue the query, and marks it as queued.
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
            // Drop the queries of evicted answers.
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
mod tests;
