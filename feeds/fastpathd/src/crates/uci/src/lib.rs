// SPDX-License-Identifier: GPL-2.0-or-later
//! UCI, the configuration of `OpenWrt`: packages as files of `/etc/config` ([`parse()`], [`text`])
//! and as the JSON of `uci get` over ubus ([`Package::read`], [`Package::values`]).

mod package;
mod parse;
mod write;

pub use package::{Options, Package, Packages, Section, Setting, switch};
pub use parse::{
    ParseError, ParseFault, Statement, anonymous_name, is_name, is_package, parse, statements,
};
pub use write::text;
