// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the program, partly with the real Suricata.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

mod alike;
mod own_rules;
mod path;
mod refused;
mod serve;
mod support;
mod talks;
mod update;
