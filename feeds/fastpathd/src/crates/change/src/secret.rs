// SPDX-License-Identifier: GPL-2.0-or-later
//! What never leaves the router.

use serde_json::{Value, json};

use crate::package::{Section, Setting};

/// What stands for a secret in answers and logs; as a new value it means "as it is".
pub const MASK: &str = "•••";

/// Names of options that hold a secret anywhere in `OpenWrt`.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "passphrase",
    "pincode",
    "pin",
    "key",
    "key1",
    "key2",
    "key3",
    "key4",
    "sae_password",
    "psk",
    "preshared_key",
    "private_key",
    "priv_key_pwd",
    "priv_key2_pwd",
    "auth_secret",
    "acct_secret",
    "auth_pass",
    "secret",
    "token",
    "pppd_options",
    "update_key",
    "wps_pin",
    "fixed_key",
];

/// Beginnings and ends of such names.
const ENDS: &[&str] = &["_password", "_passwd", "_secret", "_psk", "_token", "_private_key"];

/// Whether an option holds a secret. A URL may carry one, see [`masked_text`].
#[must_use]
pub fn is_secret(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    NAMES.contains(&option.as_str()) || ENDS.iter().any(|end| option.ends_with(end))
}

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

/// A text without what is a password in a URL: `https://user:password@host/`.
fn masked_text(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{name}:{MASK}@{host}{path}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for name in ["password", "key", "psk", "private_key", "preshared_key", "wifi_password"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["username", "proto", "keepalive", "passive", "ac", "monkey"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn neither_text_nor_length_is_shown() {
        assert_eq!(masked("password", &Setting::Text("geheim".into())), json!(MASK));
        let list = Setting::List(vec!["a".into(), "bb".into()]);
        assert_eq!(masked("key", &list), json!([MASK, MASK]));
        assert_eq!(masked("ports", &list), json!(["a", "bb"]));
    }

    #[test]
    fn a_url_keeps_its_password_to_itself() {
        for (url, shown) in [
            ("https://ann:geheim@rules.example/x", "https://ann:•••@rules.example/x"),
            ("https://ann@rules.example/x", "https://ann@rules.example/x"),
            ("https://rules.example/a:b@c", "https://rules.example/a:b@c"),
            ("a@b:c", "a@b:c"),
        ] {
            assert_eq!(masked("url", &Setting::Text(url.into())), json!(shown));
        }
    }
}
