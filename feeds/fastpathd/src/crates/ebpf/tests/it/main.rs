// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the programs in the running kernel, and checks the results with independent code.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod any;
mod attach;
mod checksums;
mod daemon;
mod dissect;
mod ends;
mod exits;
mod flow;
mod frame;
mod gso;
mod kernel;
mod own;
mod pinned;
mod reuse;
mod switch;
mod table;
mod verifier;
mod wire;
