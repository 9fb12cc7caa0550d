// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages: recorded, made up, and exchanged with the running kernel.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

mod change;
mod kernel;
mod made;
mod recorded;
mod support;
