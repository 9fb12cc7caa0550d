// SPDX-License-Identifier: GPL-2.0-or-later
//! What is rendered, and what the real Suricata makes of it.
//!
//! The latter needs `FASTPATH_SURICATA`, a program that is called with Suricata's arguments and
//! has /etc/suricata/suricata.yaml and /tmp.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

mod common;
mod golden;
mod live;
mod taken;
