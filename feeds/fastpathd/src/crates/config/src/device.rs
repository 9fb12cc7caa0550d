// SPDX-License-Identifier: GPL-2.0-or-later
//! Limits of the sections `device`, for the daemon that reads and the verbs that write them.

use std::ops::RangeInclusive;

pub const MAX_SECTIONS: usize = 512;
/// Maximum lengths in characters.
pub const MAX_NAME: usize = 63;
pub const MAX_GROUP: usize = 31;
pub const MAX_QUOTA_MB: u32 = 10_000_000;

/// Rate limits in kbit/s.
pub const LIMITS: RangeInclusive<u32> = 8..=10_000_000;
pub const INSPECT: [&str; 2] = ["always", "never"];

pub const KINDS: [&str; 12] = [
    "phone",
    "tablet",
    "laptop",
    "desktop",
    "tv",
    "console",
    "printer",
    "camera",
    "speaker",
    "appliance",
    "server",
    "network",
];
