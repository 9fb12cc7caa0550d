// SPDX-License-Identifier: GPL-2.0-or-later

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail anywhere")]

mod common;
mod golden;
mod take_over;
mod view;
