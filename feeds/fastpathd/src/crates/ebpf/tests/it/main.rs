// SPDX-License-Identifier: GPL-2.0-or-later
//! The programs, run in this machine's kernel on packets that are built here and checked by other
//! means than theirs.

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
