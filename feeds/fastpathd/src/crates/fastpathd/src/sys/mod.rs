// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine the daemon runs on.

pub(crate) mod load;
pub(crate) mod log;
pub(crate) mod machine;
pub(crate) mod netdev;
pub(crate) mod task;
