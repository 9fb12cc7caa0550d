// SPDX-License-Identifier: GPL-2.0-or-later
//! What is wrong with a configuration.

use plugin::Map;
use serde::Serialize;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Problem {
    /// The package.
    pub config: String,
    /// The section.
    pub section: String,
    /// The option; "" if all of the section is meant.
    pub option: String,
    /// A stable name of what is wrong.
    pub code: &'static str,
    /// What fills the words: the value that is meant and what it collides with.
    pub params: Map,
    /// In English.
    pub text: String,
}

/// Parameters that are texts.
pub(crate) fn texts(params: &[(&str, &str)]) -> Map {
    params.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
}
