// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests that are answered later: `engine` and `reinspect` when their outcome is known,
//! `rules_update` when the configuration has been read, `status` and `topology` when the network
//! has been; for how long, and how many at once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use ubus::{EncodeError, Reply, Request};

/// Requests that wait for their outcome.
#[derive(Default)]
pub(crate) struct Requests {
    engine: Vec<Reply>,
    reinspect: Vec<Reply>,
    /// Updates of rules that wait until the configuration is read.
    updates: Vec<Request>,
    /// Requests that wait until the kernel's network is read.
    network: FirstReading<Request>,
    /// Readings of the configuration that are under way.
    readings: usize,
    /// Refusals that were logged since then.
    refusals: (Duration, usize),
}

/// Refused calls that are logged in a minute: anybody who may read can make more.
const MOST_REFUSALS: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// The kernel answers within milliseconds. After this long the answer has the known part.
const WITHOUT_NETWORK: Duration = Duration::from_secs(5);
/// Requests that wait at once; more are answered with the known part.
const MOST_WAITING: usize = 64;

/// Requests that wait for the first reading of something.
struct FirstReading<T>(Vec<T>);

impl<T> Default for FirstReading<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FirstReading<T> {
    /// Returns a request that need not wait.
    fn hold(&mut self, request: T, over: bool) -> Option<T> {
        if over || self.0.len() >= MOST_WAITING {
            return Some(request);
        }
        self.0.push(request);
        None
    }

    /// The requests that need not wait any longer.
    fn released(&mut self, over: bool) -> Vec<T> {
        if over { std::mem::take(&mut self.0) } else { Vec::new() }
    }
}

/// Whether the wait for the network's first reading is over. `now` is since the daemon started.
fn is_over(known: bool, now: Duration) -> bool {
    known || now >= WITHOUT_NETWORK
}

impl Requests {
    pub(crate) fn hold_engine(&mut self, reply: Reply) {
        self.engine.push(reply);
    }

    pub(crate) fn hold_reinspect(&mut self, reply: Reply) {
        self.reinspect.push(reply);
    }

    /// An update that is requested right after a change of the sources means the new ones: it is
    /// held while the configuration is being read. Returns a request that need not wait.
    pub(crate) fn hold_update(&mut self, request: Request) -> Option<Request> {
        if self.readings == 0 || request.method != "rules_update" {
            return Some(request);
        }
        self.updates.push(request);
        None
    }

    /// An answer about the network right after the daemon's start would be that there is none.
    /// Returns a request that need not wait.
    pub(crate) fn hold_for_network(
        &mut self,
        request: Request,
        known: bool,
        now: Duration,
    ) -> Option<Request> {
        let waits = matches!(request.method.as_str(), "status" | "topology");
        self.network.hold(request, !waits || is_over(known, now))
    }

    /// The requests whose wait for the network is over.
    pub(crate) fn network_read(&mut self, known: bool, now: Duration) -> Vec<Request> {
        self.network.released(is_over(known, now))
    }

    /// Logs why a call was refused.
    pub(crate) fn log_refusal(&mut self, method: &str, why: &str, now: Duration) {
        if self.is_logged(now) {
            log::info!("ubus: {method} refused: {why}");
        }
    }

    fn is_logged(&mut self, now: Duration) -> bool {
        let (since, number) = &mut self.refusals;
        if now.saturating_sub(*since) >= MINUTE {
            (*since, *number) = (now, 0);
        }
        *number += 1;
        *number <= MOST_REFUSALS
    }

    pub(crate) fn reading_begins(&mut self) {
        self.readings += 1;
    }

    /// A reading has ended, with or without a configuration. Returns the requests waiting for it.
    pub(crate) fn reading_ends(&mut self) -> Vec<Request> {
        self.readings = self.readings.saturating_sub(1);
        if self.readings == 0 { std::mem::take(&mut self.updates) } else { Vec::new() }
    }

    pub(crate) fn answer_engine(&mut self, report: &impl Serialize) {
        for reply in self.engine.drain(..) {
            log_failure("engine", reply.data(report));
        }
    }

    pub(crate) fn answer_reinspect(&mut self, result: &Result<usize, String>) {
        for reply in self.reinspect.drain(..) {
            match result {
                Ok(flows) => {
                    log_failure("reinspect", reply.data(&BTreeMap::from([("flows", flows)])));
                }
                Err(_) => reply.status(ubus::Status::UnknownError),
            }
        }
    }
}

pub(crate) fn log_failure(method: &str, answered: Result<(), EncodeError>) {
    if let Err(error) = answered {
        log::error!("ubus: answer of {method}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_the_first_reading() {
        let (start, late) = (Duration::from_millis(10), WITHOUT_NETWORK);
        let mut waiting = FirstReading::default();
        assert_eq!(waiting.hold(1, is_over(false, start)), None);
        assert_eq!(waiting.hold(2, is_over(false, start)), None);
        assert_eq!(waiting.released(is_over(false, start)), [0; 0]);
        assert_eq!(waiting.released(is_over(true, start)), [1, 2]);
        assert_eq!(waiting.hold(3, is_over(true, start)), Some(3));
        assert_eq!(waiting.hold(4, is_over(false, start)), None);
        assert_eq!(waiting.released(is_over(false, late)), [4], "the kernel does not answer");
        assert_eq!(waiting.hold(5, is_over(false, late)), Some(5));
    }

    #[test]
    fn only_some_requests_wait_at_once() {
        let mut waiting = FirstReading::default();
        let held = (0..1000).filter(|n| waiting.hold(*n, false).is_none()).count();
        assert_eq!(held, MOST_WAITING);
    }

    #[test]
    fn refused_calls_do_not_fill_the_log() {
        let mut requests = Requests::default();
        let mut logged = |second| requests.is_logged(Duration::from_secs(second));
        assert_eq!((0..100).filter(|_| logged(100)).count(), MOST_REFUSALS);
        assert!(!logged(159));
        assert!(logged(160));
    }
}
