// SPDX-License-Identifier: GPL-2.0-or-later

pub(crate) mod clock;
pub(crate) mod dns;
pub(crate) mod file;
pub(crate) mod grace;
pub(crate) mod kernel;
pub(crate) mod log;
pub(crate) mod socket;
pub(crate) mod task;
