// SPDX-License-Identifier: GPL-2.0-or-later
//! Events and effects of ubus: connection, calls, subscribers, and answers to held requests.

pub(crate) mod connection;
pub(crate) mod health;
pub(crate) mod methods;
pub(crate) mod notify;
mod repeat;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod status;
#[cfg(test)]
mod tests;

/// Events of the bus.
#[derive(Debug)]
pub(crate) enum Event {
    /// Connected to ubusd, our object is published.
    Up(ubus::Handle),
    /// The connection is lost.
    Down,
    /// One of our methods was called.
    Invoked(Box<ubus::Request>),
    /// Whether anybody is subscribed to our notifications.
    Subscribed(bool),
}

/// Answers to held requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Answer the requests for the method `engine`.
    AnswerEngine,
    /// Answer the requests for the method `reinspect`: how many connections had left inspection.
    AnswerReinspect(Result<usize, String>),
}
