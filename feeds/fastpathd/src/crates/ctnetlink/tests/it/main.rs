// SPDX-License-Identifier: GPL-2.0-or-later

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

mod change;
mod kernel;
mod made;
mod recorded;
mod support;
