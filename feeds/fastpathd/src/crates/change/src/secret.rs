// SPDX-License-Identifier: GPL-2.0-or-later
//! What never leaves the router.

use config::secret::masked_text;
pub(crate) use config::secret::{MASK, has_mask, is_secret};
use serde_json::{Value, json};

use crate::package::{Section, Setting};

/// A value as it may be shown. The text of a secret is never part of it, nor its length.
#[must_use]
pub(crate) fn masked(option: &str, setting: &Setting) -> Value {
    if is_secret(option) {
        return match setting {
            Setting::Text(_) => json!(MASK),
            Setting::List(list) => json!(vec![MASK; list.len()]),
        };
    }
    match setting {
        Setting::Text(text) => json!(masked_text(text)),
        Setting::List(list) => json!(list.iter().map(|text| masked_text(text)).collect::<Vec<_>>()),
    }
}

/// A section as it may be shown.
#[must_use]
pub(crate) fn masked_section(section: &Section) -> Value {
    let mut value = section.value();
    for (option, setting) in &section.options {
        value["values"][option] = masked(option, setting);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_text_nor_length_is_shown() {
        assert_eq!(masked("password", &Setting::Text("geheim".into())), json!(MASK));
        let list = Setting::List(vec!["a".into(), "bb".into()]);
        assert_eq!(masked("key", &list), json!([MASK, MASK]));
        assert_eq!(masked("ports", &list), json!(["a", "bb"]));
    }
}
