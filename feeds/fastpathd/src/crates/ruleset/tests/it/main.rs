// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of scripts, of running nft, and of the effect on packets.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

mod command;
mod golden;
mod kernel;
mod traffic;
