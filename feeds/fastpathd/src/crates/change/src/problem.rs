// SPDX-License-Identifier: GPL-2.0-or-later
//! Problems of a configuration.

use plugin::Map;
use serde_json::{Value, json};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
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

impl Problem {
    /// As it is answered.
    #[must_use]
    pub(crate) fn value(&self) -> Value {
        json!({
            "config": self.config, "section": self.section, "option": self.option,
            "code": self.code, "params": self.params, "text": self.text,
        })
    }
}
