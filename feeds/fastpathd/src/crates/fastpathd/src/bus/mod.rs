// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of ubus: connection, method calls, subscribers.

pub(crate) mod connection;
pub(crate) mod notify;
mod repeat;
pub(crate) mod requests;
pub(crate) mod run;

#[derive(Debug)]
pub(crate) enum Event {
    Up(ubus::Handle),
    Down,
    Invoked(Box<ubus::Request>),
    /// Whether any client is subscribed to our notifications.
    Subscribed(bool),
    InterfacesChanged,
}
