// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of the rendered configuration, some of them with the real Suricata.
//!
//! The latter need `FASTPATH_SURICATA`, a program that takes Suricata's arguments and can read
//! /etc/suricata/suricata.yaml and /tmp.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

mod capture;
mod common;
mod differences;
mod golden;
mod handshake;
mod live;
mod pretended;
mod taken;
