// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the codec and the client with recordings and arbitrary bytes.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod arbitrary;
mod connection;
mod recorded;
mod replay;
mod serialize;
mod transcript;
