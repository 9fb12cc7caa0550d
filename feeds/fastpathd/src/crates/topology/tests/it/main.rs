// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the model and route look-ups with the running kernel.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

mod namespace;
mod routing;
mod support;
