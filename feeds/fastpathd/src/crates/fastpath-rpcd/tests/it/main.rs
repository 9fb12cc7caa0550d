// SPDX-License-Identifier: GPL-2.0-or-later

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

#[path = "../../../plugin/tests/bus/mod.rs"]
mod bus;
mod change;
mod device;
mod refusals;
mod router;
