// SPDX-License-Identifier: GPL-2.0-or-later
//! Masks UCI values and sections before they leave the router. `crates/config/src/secret.rs` lists
//! the options that are shown.

pub(crate) use config::secret::{MASK, has_mask};

use ::uci::{Section, Setting};

/// Returns a value as it may be shown. A mask reveals neither the text of a secret nor its length.
pub(crate) fn masked(kind: &str, option: &str, setting: &Setting) -> Setting {
    let shown = |text: &String| config::secret::shown(kind, option, text);
    match setting {
        Setting::Text(text) => Setting::Text(shown(text)),
        Setting::List(list) => Setting::List(list.iter().map(shown).collect()),
    }
}

/// Returns a section as it may be shown.
pub(crate) fn masked_section(section: &Section) -> Section {
    let mut shown = section.clone();
    for (option, setting) in &mut shown.options {
        *setting = masked(&section.kind, option, setting);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_text_nor_length_is_shown() {
        let text = |text: &str| Setting::Text(text.to_owned());
        assert_eq!(masked("", "password", &text("geheim")), text(MASK));
        let list = Setting::List(vec!["a".into(), "bb".into()]);
        assert_eq!(masked("", "key", &list), Setting::List(vec![MASK.into(), MASK.into()]));
        assert_eq!(masked("bridge-vlan", "ports", &list), list);
    }
}
