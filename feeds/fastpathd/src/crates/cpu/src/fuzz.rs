// SPDX-License-Identifier: GPL-2.0-or-later
//! Exports private parsers for the fuzz targets: `/proc/interrupts`.

use crate::interrupts::{names, owned, serves};
use crate::machine::Serves;

#[must_use]
pub fn queues(interrupts: &str, device: &str) -> Vec<Serves> {
    let names = names(interrupts);
    let own: Vec<&str> = names.values().map(String::as_str).filter(|n| owned(n, device)).collect();
    serves(&own, device)
}
