// SPDX-License-Identifier: GPL-2.0-or-later
//! The common parts of the tests of the whole program: a running stand-in (or a real OpenWrt), the
//! object that was recorded, and a plain HTTP client.

pub(crate) mod bus;
pub(crate) mod demo;
pub(crate) mod http;
pub(crate) mod router;
pub(crate) mod rpc;
