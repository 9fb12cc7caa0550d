// SPDX-License-Identifier: GPL-2.0-or-later
//! The form of a problem of a draft: package, section, option, code, parameters and text. The
//! checks are in `validate/`.

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
    /// A stable name of the problem.
    pub code: &'static str,
    /// Parameters of the message: the value in question and the one it collides with.
    pub params: Map,
    /// In English.
    pub text: String,
}

/// Parameters that are texts.
pub(crate) fn texts(params: &[(&str, &str)]) -> Map {
    params.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
}
