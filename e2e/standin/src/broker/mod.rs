// SPDX-License-Identifier: GPL-2.0-or-later
//! Replaces ubusd: objects, calls between clients, subscriptions and events.

mod acl;
mod calls;
mod core;
mod events;
mod server;

pub use acl::{Acl, Operation, Peer};
pub use core::Broker;
pub use server::{ServeError, Server};
