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

#[derive(Debug)]
pub(crate) enum Event {
    /// Connected to ubusd; our object is published.
    Up(ubus::Handle),
    /// The connection to ubusd is lost.
    Down,
    /// A client called one of our methods.
    Invoked(Box<ubus::Request>),
    /// True while any client is subscribed to our notifications.
    Subscribed(bool),
}

/// Answers to held requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Answer the held `engine` requests.
    AnswerEngine,
    /// Answer `reinspect` with the number of connections that had left inspection.
    AnswerReinspect(Result<usize, String>),
}
