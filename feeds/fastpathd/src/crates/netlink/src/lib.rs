// SPDX-License-Identifier: GPL-2.0-or-later
//! Netlink transport: requests, dumps and multicast groups. Callers encode and decode the payloads.
//!
//! [`Client`] blocks until the kernel has answered, [`Dump`] and [`AsyncSocket`] run on tokio, and
//! [`Family`] adds the header of generic netlink.

mod attribute;
mod burst;
mod client;
mod dump;
mod error;
mod family;
mod message;
mod reactor;
mod socket;

pub use attribute::{attribute, attributes, number, push_attribute, push_nested};
pub use burst::BURST;
pub use client::{Client, request};
pub use dump::Dump;
pub use error::{Refusal, RequestError};
pub use family::{Family, contents};
pub use message::{
    ACK, CREATE, DUMP, EXCL, HEADER, Message, Messages, REQUEST, begin, finish, message, messages,
};
pub use reactor::{AsyncSocket, overrun};
pub use socket::Protocol;
