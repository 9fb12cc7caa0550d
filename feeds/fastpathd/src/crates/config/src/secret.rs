// SPDX-License-Identifier: GPL-2.0-or-later
//! The list of options that hold secrets, and how their values are masked in answers, messages and
//! logs: also passwords, query values and subscriber codes in URLs.

/// Replaces a secret in answers and logs; as a new value it means "unchanged".
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

/// A value of an option as it may be shown: a secret is masked, and so are credentials in a URL. A
/// value that only resembles a URL or has several in it is masked whole.
#[must_use]
pub fn shown(option: &str, value: &str) -> String {
    let urls = value.matches("://").count();
    let broken = option.to_ascii_lowercase().ends_with("url") && urls == 0 && value.contains('@');
    if value.is_empty() {
        return String::new();
    }
    if is_secret(option) || broken || urls > 1 { MASK.to_owned() } else { masked_text(value) }
}

/// Letters and digits of a part of a URL's path that is a subscriber's code and no name.
const SHORTEST_CODE: usize = 16;

/// A URL without credentials: the password of `https://user:password@host/`, values of its query
/// (`?oinkcode=…`), and codes in its path.
#[must_use]
pub fn masked_text(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{name}:{MASK}@{host}")
        }
        // A slash in a password ends the host's name; the text after the colon is not a port then.
        None if has_no_port(authority) => return MASK.to_owned(),
        Some(_) | None => authority.to_owned(),
    };
    let path: Vec<&str> =
        path.split('/').map(|part| if is_code(part) { MASK } else { part }).collect();
    format!("{scheme}://{authority}{}{}", path.join("/"), masked_query(query))
}

/// Whether a host's name has a colon and something else than a port after it.
fn has_no_port(authority: &str) -> bool {
    let port = authority.rsplit_once(':').filter(|_| !authority.ends_with(']'));
    port.is_some_and(|(_, port)| !port.bytes().all(|c| c.is_ascii_digit()))
}

fn is_code(part: &str) -> bool {
    part.len() >= SHORTEST_CODE
        && part.bytes().all(|c| c.is_ascii_alphanumeric())
        && part.bytes().any(|c| c.is_ascii_digit())
}

/// `?a=b&c`: the names stay; a part without one is a value.
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

/// Whether a text is a URL with a mask in it: storing it would lose the secret.
#[must_use]
pub fn has_mask(text: &str) -> bool {
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
    fn a_url_keeps_its_password_to_itself() {
        for (url, masked) in [
            ("https://ann:geheim@rules.example/x", "https://ann:•••@rules.example/x"),
            ("https://ann@rules.example/x", "https://ann@rules.example/x"),
            ("https://rules.example/a:b@c", "https://rules.example/a:b@c"),
            ("a@b:c", "a@b:c"),
            ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x"),
            ("https://rules.example:8443/x", "https://rules.example:8443/x"),
            ("https://a:b:c@h?oinkcode=0f1e2d&x=&y", "https://a:•••@h?oinkcode=•••&x=&•••"),
            ("https://h/rules/x.tar.gz?", "https://h/rules/x.tar.gz?"),
            (
                "https://h.example/0123456789abcdef/suricata-8.0.2/et.rules.tar.gz",
                "https://h.example/•••/suricata-8.0.2/et.rules.tar.gz",
            ),
        ] {
            assert_eq!(masked_text(url), masked);
            assert!(!shown("url", url).contains("geheim"));
        }
    }

    #[test]
    fn a_url_with_a_mistake_in_it_is_masked_whole() {
        for (option, value) in [
            ("url", "ann:geheim@rules.example/x"),
            ("url", "https://ann:ge/heim@rules.example/x"),
            ("signature_url", "https:/ann:geheim@rules.example/x"),
            ("url", r#"["https://a.example/","https://ann:geheim@b.example/"]"#),
            ("password", "geheim"),
        ] {
            assert_eq!(shown(option, value), MASK, "{value}");
        }
        assert_eq!(shown("name", "me@home"), "me@home");
        assert_eq!(shown("url", ""), "");
    }
}
