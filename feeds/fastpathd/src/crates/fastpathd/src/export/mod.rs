// SPDX-License-Identifier: GPL-2.0-or-later
//! Exporters: one task per collector with its socket, queue and messages.

pub(crate) mod end;
mod events;
mod feed;
#[cfg(test)]
mod fixture;
mod logged;
mod outbox;
mod route;
pub(crate) mod run;
mod shared;
mod tcp;
mod udp;
