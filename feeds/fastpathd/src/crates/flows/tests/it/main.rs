// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests the public interface of the flow table.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

mod credit;
mod ends;
mod exclude;
mod hardware;
mod history;
mod inspection;
mod invariants;
mod ladder;
mod life;
mod offload;
mod passed;
mod query;
mod records;
mod revoked;
mod support;
mod table;
mod traffic;
