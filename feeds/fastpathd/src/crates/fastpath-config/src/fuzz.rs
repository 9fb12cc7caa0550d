// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate, for the fuzz targets: the excerpt of rpcd's answer.

use plugin::Map;

use crate::excerpt;

/// The part of `config` that the daemon gets; none: it does not read it.
#[must_use]
pub fn excerpt(config: &str, values: &Map) -> Option<Map> {
    Some(excerpt::cut(values, excerpt::of(config)?))
}
