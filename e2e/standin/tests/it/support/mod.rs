// SPDX-License-Identifier: GPL-2.0-or-later
//! Test fixtures: a running stand-in or real OpenWrt, the recorded object, an HTTP client.

pub(crate) mod bus;
pub(crate) mod demo;
pub(crate) mod http;
pub(crate) mod router;
pub(crate) mod rpc;
