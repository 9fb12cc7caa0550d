// SPDX-License-Identifier: GPL-2.0-or-later
//! Private parsers of this crate for the fuzz targets.

use plugin::Map;

use crate::excerpt;

#[must_use]
pub fn excerpt(config: &str, values: &Map) -> Option<Map> {
    Some(excerpt::cut(values, excerpt::readable(config)?))
}
