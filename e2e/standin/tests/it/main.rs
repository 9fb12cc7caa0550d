// SPDX-License-Identifier: GPL-2.0-or-later
//! Integration tests of the stand-in.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

mod administration;
mod bus;
mod contract;
mod file;
mod plugins;
mod rights;
mod secrets;
mod support;
mod uci;
mod web;
mod wire;
