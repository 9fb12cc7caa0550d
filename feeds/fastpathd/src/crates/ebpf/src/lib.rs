// SPDX-License-Identifier: GPL-2.0-or-later
//! Offloads flows to BPF programs: entries, maps and hooks.

pub mod ability;
pub mod attach;
mod clsact;
pub mod connection;
pub mod dependency;
pub mod devices;
mod elements;
pub mod engine;
pub mod entry;
pub mod entry_side;
pub mod exits;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod folder;
pub mod header;
pub mod layout;
mod owner;
pub mod pinned;
mod program;
pub mod programs;
mod role;
pub mod stripping;
mod sys;
pub mod table;
mod wire;

pub use program::run;
