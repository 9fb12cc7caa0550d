// SPDX-License-Identifier: GPL-2.0-or-later
//! The rendered configuration, and how the real Suricata reads it.
//!
//! The latter needs `FASTPATH_SURICATA`, a program that is called with Suricata's arguments and
//! has /etc/suricata/suricata.yaml and /tmp.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

mod capture;
mod common;
mod differences;
mod golden;
mod handshake;
mod live;
mod pretended;
mod taken;
