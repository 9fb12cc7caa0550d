// SPDX-License-Identifier: GPL-2.0-or-later
//! The common parts of the tests of the whole program: a running stand-in (or a real OpenWrt), the
//! object that was recorded, and a plain HTTP client.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

pub(crate) mod bus;
pub(crate) mod demo;
pub(crate) mod http;
pub(crate) mod router;
pub(crate) mod rpc;
