// SPDX-License-Identifier: GPL-2.0-or-later
//! Secrets in UCI values and sections, masked before they leave the router. The list of secret
//! options is in `crates/config/src/secret.rs`.

use config::secret::masked_text;
pub(crate) use config::secret::{MASK, has_mask, is_secret};

use ::uci::{Section, Setting};

/// A value as it may be shown. The text of a secret is never part of it, nor its length.
pub(crate) fn masked(option: &str, setting: &Setting) -> Setting {
    let shown = |text: &String| {
        if is_secret(option) { MASK.to_owned() } else { masked_text(text) }
    };
    match setting {
        Setting::Text(text) => Setting::Text(shown(text)),
        Setting::List(list) => Setting::List(list.iter().map(shown).collect()),
    }
}

/// A section as it may be shown.
pub(crate) fn masked_section(section: &Section) -> Section {
    let mut shown = section.clone();
    for (option, setting) in &mut shown.options {
        *setting = masked(option, setting);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_text_nor_length_is_shown() {
        let text = |text: &str| Setting::Text(text.to_owned());
        assert_eq!(masked("password", &text("geheim")), text(MASK));
        let list = Setting::List(vec!["a".into(), "bb".into()]);
        assert_eq!(masked("key", &list), Setting::List(vec![MASK.into(), MASK.into()]));
        assert_eq!(masked("ports", &list), list);
    }
}
