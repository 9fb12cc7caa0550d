// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate for the fuzz targets.

use plugin::Map;

use crate::excerpt;

/// Returns the part of `config` that the daemon gets; `None` if it may not read the package.
#[must_use]
pub fn excerpt(config: &str, values: &Map) -> Option<Map> {
    Some(excerpt::cut(values, excerpt::of(config)?))
}
