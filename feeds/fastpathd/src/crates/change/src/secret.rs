// SPDX-License-Identifier: GPL-2.0-or-later
//! Masks UCI values and sections, see `config::secret`.

pub(crate) use config::secret::{MASK, has_mask};

use ::uci::{Section, Setting};

pub(crate) fn masked(kind: &str, option: &str, setting: &Setting) -> Setting {
    let shown = |text: &String| config::secret::shown(kind, option, text);
    match setting {
        Setting::Text(text) => Setting::Text(shown(text)),
        Setting::List(list) => Setting::List(list.iter().map(shown).collect()),
    }
}

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
    fn a_mask_reveals_neither_text_nor_length() {
        let text = |text: &str| Setting::Text(text.to_owned());
        assert_eq!(masked("", "password", &text("geheim")), text(MASK));
        let list = Setting::List(vec!["a".into(), "bb".into()]);
        assert_eq!(masked("", "key", &list), Setting::List(vec![MASK.into(), MASK.into()]));
        assert_eq!(masked("bridge-vlan", "ports", &list), list);
    }
}
