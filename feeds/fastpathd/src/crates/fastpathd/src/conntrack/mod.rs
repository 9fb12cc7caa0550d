// SPDX-License-Identifier: GPL-2.0-or-later
//! Conntrack: when its table is read.

pub(crate) mod refresh;
