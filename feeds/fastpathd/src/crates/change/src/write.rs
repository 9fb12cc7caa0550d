// SPDX-License-Identifier: GPL-2.0-or-later
//! Packages as text.

pub use ::uci::text;
