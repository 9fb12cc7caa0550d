// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs the program like rpcd, and checks the codes of its refusals.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

#[path = "../../../plugin/tests/bus/mod.rs"]
mod bus;
mod change;
mod refusals;
mod router;
