// SPDX-License-Identifier: GPL-2.0-or-later
//! Inspection by Suricata: its state, its files, its events, its answers.

pub(crate) mod answer;
pub(crate) mod decide;
pub(crate) mod probe;
pub(crate) mod state;
pub(crate) mod suricata;
