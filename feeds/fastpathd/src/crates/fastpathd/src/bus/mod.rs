// SPDX-License-Identifier: GPL-2.0-or-later
//! Events of ubus: connection, calls and subscribers.

pub(crate) mod connection;
pub(crate) mod notify;
mod repeat;
pub(crate) mod requests;
pub(crate) mod run;

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
    /// netifd reports that interfaces changed.
    InterfacesChanged,
}
