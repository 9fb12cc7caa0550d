// SPDX-License-Identifier: GPL-2.0-or-later
//! Problems of a draft, as reported by `validate/`.

use plugin::Map;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Problem {
    pub config: String,
    pub section: String,
    /// Empty for a problem of the whole section.
    pub option: String,
    pub code: &'static str,
    /// Parameters of the message, such as the value and a colliding value.
    pub params: Map,
    pub text: String,
}

pub(crate) fn texts(params: &[(&str, &str)]) -> Map {
    params.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
}
