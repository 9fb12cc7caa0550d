// SPDX-License-Identifier: GPL-2.0-or-later
//! A problem of a draft. The checks are in `validate/`.

use plugin::Map;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Problem {
    pub config: String,
    pub section: String,
    /// Empty if the whole section is meant.
    pub option: String,
    /// Stable name of the problem.
    pub code: &'static str,
    /// Parameters of the message: the value, and the value that it collides with.
    pub params: Map,
    /// Message in English.
    pub text: String,
}

/// Returns parameters that are texts.
pub(crate) fn texts(params: &[(&str, &str)]) -> Map {
    params.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
}
