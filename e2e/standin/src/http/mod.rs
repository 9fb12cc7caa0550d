// SPDX-License-Identifier: GPL-2.0-or-later
//! Replaces uhttpd: `/ubus`, static files and cgi-io.

mod body;
mod cgi;
mod files;
mod form;
mod gateway;
mod rest;
mod rpc;
mod server;

pub use gateway::Gateway;
pub use server::{MAX_CONNECTIONS, ServeError, Server};
