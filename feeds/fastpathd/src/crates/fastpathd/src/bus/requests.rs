// SPDX-License-Identifier: GPL-2.0-or-later
//! Defers answers: `engine` and `reinspect` until their outcome is known, `rules_update` until the
//! configuration is read, `status` and `topology` until the network is read.

use std::time::Duration;

use serde::Serialize;
use ubus::{EncodeError, Field, Reply, Request};

#[derive(Default)]
pub(crate) struct Requests {
    engine: Vec<Reply>,
    reinspect: Vec<Reply>,
    updates: Vec<Request>,
    network: FirstReading<Request>,
    readings: usize,
    /// Start of the current minute, and the number of refused calls in it.
    refusals: (Duration, usize),
}

/// Refused calls logged per minute. Clients with read access can cause more.
const MAX_REFUSALS: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Maximum time from the daemon's start that requests wait for the network. The kernel usually
/// answers in milliseconds.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_DEFERRED: usize = 64;

struct FirstReading<T>(Vec<T>);

impl<T> Default for FirstReading<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FirstReading<T> {
    /// Defers a request, or returns it if `over` or if too many requests are deferred.
    fn hold(&mut self, request: T, over: bool) -> Option<T> {
        if over || self.0.len() >= MAX_DEFERRED {
            return Some(request);
        }
        self.0.push(request);
        None
    }

    /// Returns the deferred requests if the wait is over.
    fn released(&mut self, over: bool) -> Vec<T> {
        if over { std::mem::take(&mut self.0) } else { Vec::new() }
    }
}

/// Returns whether the network is known or the wait is over. `now` counts from the daemon's start.
fn is_over(known: bool, now: Duration) -> bool {
    known || now >= NETWORK_TIMEOUT
}

impl Requests {
    pub(crate) fn hold_engine(&mut self, reply: Reply) {
        self.engine.push(reply);
    }

    pub(crate) fn hold_reinspect(&mut self, reply: Reply) {
        self.reinspect.push(reply);
    }

    /// Defers `rules_update` while the configuration is being read, because the update has to use
    /// the new rule sources. Returns any other request.
    pub(crate) fn hold_update(&mut self, request: Request) -> Option<Request> {
        if self.readings == 0 || request.method != "rules_update" {
            return Some(request);
        }
        self.updates.push(request);
        None
    }

    /// Defers `status` and `topology` until the network is read. Returns any other request.
    pub(crate) fn hold_for_network(
        &mut self,
        request: Request,
        known: bool,
        now: Duration,
    ) -> Option<Request> {
        let waits = matches!(request.method.as_str(), "status" | "topology");
        self.network.hold(request, !waits || is_over(known, now))
    }

    pub(crate) fn network_read(&mut self, known: bool, now: Duration) -> Vec<Request> {
        self.network.released(is_over(known, now))
    }

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
        *number <= MAX_REFUSALS
    }

    pub(crate) fn reading_begins(&mut self) {
        self.readings += 1;
    }

    /// Ends a reading. Returns the requests deferred until the last reading.
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
                    log_failure("reinspect", reply.data(&Field("flows", flows)));
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
    fn defers_requests_until_the_first_reading_or_a_timeout() {
        let (start, late) = (Duration::from_millis(10), NETWORK_TIMEOUT);
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
    fn limits_the_number_of_deferred_requests() {
        let mut waiting = FirstReading::default();
        let held = (0..1000).filter(|n| waiting.hold(*n, false).is_none()).count();
        assert_eq!(held, MAX_DEFERRED);
    }

    #[test]
    fn rate_limits_the_log_of_refused_calls() {
        let mut requests = Requests::default();
        let mut logged = |second| requests.is_logged(Duration::from_secs(second));
        assert_eq!((0..100).filter(|_| logged(100)).count(), MAX_REFUSALS);
        assert!(!logged(159));
        assert!(logged(160));
    }
}
