// SPDX-License-Identifier: GPL-2.0-or-later
//! What never leaves the router.

use serde_json::{Value, json};

use crate::package::{Section, Setting};

/// What stands for a secret in answers and logs; as a new value it means "as it is".
pub const MASK: &str = "•••";

/// Names of options that hold a secret anywhere in `OpenWrt`.
const NAMES: &[&str] = &[
    "password",
    "password2",
    "passgroup",
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
    "updatekey",
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

/// Letters and digits of a part of a URL's path that is a subscriber's code and no name.
const SHORTEST_CODE: usize = 16;

/// A URL without what gives its owner access: `https://user:password@host/`, values of its query
/// (`?oinkcode=…`), and codes in its path.
fn masked_text(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{name}:{MASK}@{host}")
        }
        _ => authority.to_owned(),
    };
    let path: Vec<&str> =
        path.split('/').map(|part| if is_code(part) { MASK } else { part }).collect();
    format!("{scheme}://{authority}{}{}", path.join("/"), masked_query(query))
}

fn is_code(part: &str) -> bool {
    part.len() >= SHORTEST_CODE
        && part.bytes().all(|c| c.is_ascii_alphanumeric())
        && part.bytes().any(|c| c.is_ascii_digit())
}

/// `?a=b&c`: the names stay; what has none is a value.
fn masked_query(query: &str) -> String {
    let Some(query) = query.strip_prefix('?') else { return query.to_owned() };
    let mut parts = Vec::new();
    for part in query.split('&') {
        parts.push(match part.split_once('=') {
            Some((name, value)) if !value.is_empty() => format!("{name}={MASK}"),
            None if !part.is_empty() => MASK.to_owned(),
            _ => part.to_owned(),
        });
    }
    format!("?{}", parts.join("&"))
}

/// Whether a text is a URL as it is shown, with a mask in it: what was there would be lost.
#[must_use]
pub(crate) fn has_mask(text: &str) -> bool {
    text.contains("://") && text.contains(MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for name in
            ["password", "key", "psk", "private_key", "preshared_key", "wifi_password", "updatekey"]
        {
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
            ("https://a:b:c@h?oinkcode=0f1e2d&x=&y", "https://a:•••@h?oinkcode=•••&x=&•••"),
            ("https://h/rules/x.tar.gz?", "https://h/rules/x.tar.gz?"),
            (
                "https://h.example/0123456789abcdef/suricata-8.0.2/et.rules.tar.gz",
                "https://h.example/•••/suricata-8.0.2/et.rules.tar.gz",
            ),
        ] {
            assert_eq!(masked("url", &Setting::Text(url.into())), json!(shown));
        }
    }
}
