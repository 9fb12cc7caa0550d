// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads `/etc/config/fastpath`. The `settings.rs` of the crates `ruleset`, `ips`, `cpu` and
//! `rules` define the options and their defaults.
//!
//! [`Package::take`] returns the sections of a type. [`Section`] parses options and records each
//! problem with section, option, value and [`Fault`]. [`Package::finish`] returns all problems, and
//! warns of options that were not read.

mod cause;
pub mod device;
mod digest;
pub mod exposure;
mod fault;
pub mod fw4;
mod named;
mod network;
mod package;
pub mod secret;
mod section;
pub mod sort;
mod value;
pub mod zone;

pub use cause::{Cause, Params};
pub use digest::digest;
pub use fault::Fault;
pub use network::Network;
pub use package::{Package, SettingsError, section_name};
pub use section::{Problem, Section};
pub use uci::{ParseError as UciError, ParseFault as UciFault};
pub use value::{endpoint, interface, is_device_name, label, number, number_in, switch};

/// Parses a file of `/etc/config` into the `values` of ubus' `uci get`.
pub fn parse_uci(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<serde_json::Value, UciError> {
    Ok(uci::parse(text)?.values())
}

impl From<UciError> for Cause {
    fn from(error: UciError) -> Self {
        let params = Params::from_iter([("line".to_owned(), error.line.to_string().into())]);
        Self { code: error.fault.code(), params, text: error.to_string() }
    }
}
