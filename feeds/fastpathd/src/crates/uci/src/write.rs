// SPDX-License-Identifier: GPL-2.0-or-later
//! Formats packages as files of `/etc/config`.

use crate::package::{Package, Section, Setting};

/// Formats a package like `uci export`.
#[must_use]
pub fn text(package: &Package) -> String {
    let mut text = String::new();
    for section in &package.sections {
        section_text(section, &mut text);
    }
    text
}

fn section_text(section: &Section, text: &mut String) {
    text.push_str("\nconfig ");
    if is_plain(&section.kind) {
        text.push_str(&section.kind);
    } else {
        quote(&section.kind, text);
    }
    if !section.anonymous {
        text.push(' ');
        quote(&section.name, text);
    }
    text.push('\n');
    for (name, setting) in &section.options {
        let keyword = match setting {
            Setting::Text(_) => "\toption ",
            Setting::List(_) => "\tlist ",
        };
        for value in setting.texts() {
            text.push_str(keyword);
            text.push_str(name);
            text.push(' ');
            quote(value, text);
            text.push('\n');
        }
    }
}

fn is_plain(kind: &str) -> bool {
    kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Appends a value in single quotes. A quote within it is escaped between two quoted parts.
fn quote(value: &str, text: &mut String) {
    text.push('\'');
    text.push_str(&value.replace('\'', "'\\''"));
    text.push('\'');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::package::Options;
    use crate::parse::parse;

    #[test]
    fn formats_a_section_like_uci() {
        let options = Options::from([
            ("ports".to_owned(), Setting::List(vec!["lan1:u*".into(), "lan2".into()])),
            ("name".to_owned(), Setting::Text("it's".into())),
        ]);
        let section = Section { name: "x".into(), anonymous: false, kind: "a".into(), options };
        let expected = "\nconfig a 'x'\n\toption name 'it'\\''s'\n\tlist ports 'lan1:u*'\n\
            \tlist ports 'lan2'\n";
        assert_eq!(text(&Package { sections: vec![section] }), expected);
    }

    fn package() -> impl Strategy<Value = Package> {
        let value = || "([^\0]|['\"\\\\\n#; ü]){1,12}";
        let setting = prop_oneof![
            value().prop_map(Setting::Text),
            prop::collection::vec(value(), 1..4).prop_map(Setting::List),
        ];
        let options = prop::collection::btree_map("[a-z_0-9]{1,6}", setting, 0..4);
        let section = (any::<bool>(), "[a-z]{1,4}|[!-~]{1,4}", options);
        prop::collection::vec(section, 0..5).prop_map(|list| {
            let sections =
                list.into_iter().enumerate().map(|(index, (anonymous, kind, options))| Section {
                    name: format!("s{index}"),
                    anonymous,
                    kind,
                    options,
                });
            Package { sections: sections.collect() }
        })
    }

    proptest! {
        #[test]
        fn parsing_a_formatted_package_returns_the_same_package(package in package()) {
            prop_assert!(parse(&text(&package)).unwrap().says(&package), "{}", text(&package));
        }
    }
}
