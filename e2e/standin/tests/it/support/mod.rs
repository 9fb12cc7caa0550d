// SPDX-License-Identifier: GPL-2.0-or-later
//! Common parts of the tests: a running stand-in or real OpenWrt, the recorded object, and a plain
//! HTTP client.

pub(crate) mod bus;
pub(crate) mod demo;
pub(crate) mod http;
pub(crate) mod router;
pub(crate) mod rpc;
