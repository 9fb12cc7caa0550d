// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the scripts, of running nft, and of the rules' effect on packets.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

mod command;
mod golden;
mod kernel;
mod traffic;
