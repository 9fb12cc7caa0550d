// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows that programs in the kernel forward: their entries, their maps, their hooks.

pub mod connection;
pub mod engine;
pub mod entry;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod ground;
pub mod header;
pub mod layout;
pub mod programs;
pub mod table;
