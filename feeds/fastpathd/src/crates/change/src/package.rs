// SPDX-License-Identifier: GPL-2.0-or-later
//! Packages as values.

pub use ::uci::{Options, Package, Packages, Section, Setting};
