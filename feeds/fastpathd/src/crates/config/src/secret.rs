// SPDX-License-Identifier: GPL-2.0-or-later
//! Masks secrets in replies, messages and logs. `shown.json` lists the options whose values are
//! shown, by section type; the Ansible collection has a copy. All other values are masked. A URL is
//! reduced to scheme and host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Replaces a secret in replies and logs. As a new value, the mask means "unchanged".
pub const MASK: &str = "•••";

/// Options by section type. A type with a trailing `_` is a prefix of types.
type Shown = BTreeMap<String, BTreeSet<String>>;

/// Empty if `shown.json` is invalid, so that all values are masked.
static SHOWN: LazyLock<Shown> =
    LazyLock::new(|| serde_json::from_slice(include_bytes!("shown.json")).unwrap_or_default());

#[must_use]
pub fn is_shown(kind: &str, option: &str) -> bool {
    let of_type = |kind: &str| SHOWN.get(kind).is_some_and(|options| options.contains(option));
    let beginning = kind.find('_').map_or("", |end| &kind[..=end]);
    of_type(kind) || of_type(beginning)
}

/// Returns the value of an option in a section of type `kind`, masked if necessary.
#[must_use]
pub fn shown(kind: &str, option: &str, value: &str) -> String {
    let is_url = option == "url" || option.ends_with("_url");
    if value.is_empty() {
        String::new()
    } else if !is_shown(kind, option) {
        MASK.to_owned()
    } else if is_url || value.contains("://") {
        shown_url(value)
    } else if has_password(value) {
        MASK.to_owned()
    } else {
        value.to_owned()
    }
}

/// Masks all parts of a URL except scheme, host and port. Users, paths and queries may contain
/// passwords.
#[must_use]
pub fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return MASK.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !is_name(scheme) || !is_host(host) {
        return MASK.to_owned();
    }
    let rest = if user.is_empty() && matches!(path, "" | "/") {
        path.to_owned()
    } else {
        format!("/{MASK}")
    };
    format!("{scheme}://{host}{rest}")
}

/// Substrings of option names that indicate a secret, for packages without listed options.
const SECRET: &[&str] =
    &["community", "credential", "pass", "psk", "pwd", "secret", "token", "uuid"];
/// Whole words of option names that indicate a secret. As substrings they would match "codec" or
/// "ping".
const SECRET_PARTS: &[&str] =
    &["bearer", "code", "cookie", "hash", "otp", "pin", "pincode", "pw", "seed"];
/// Minimum length of a word of letters and digits that counts as a secret.
const MIN_RANDOM_LEN: usize = 20;

fn is_secret_name(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    let mut parts = option.split('_').map(|part| part.trim_end_matches(char::is_numeric));
    SECRET.iter().any(|secret| option.contains(secret))
        || parts.any(|part| SECRET_PARTS.contains(&part) || part.ends_with("key"))
}

/// Returns whether a value looks like a secret: a password in a URL, or a random word.
fn is_secret_text(text: &str) -> bool {
    let is_random = |word: &str| {
        word.len() >= MIN_RANDOM_LEN
            && word.bytes().any(|c| c.is_ascii_digit())
            && word.bytes().any(|c| c.is_ascii_alphabetic())
    };
    has_password(text)
        || (text.contains("://") && shown_url(text) != text)
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random)
}

/// Returns whether a text is a boolean or a small number, which cannot be a secret.
fn is_switch(text: &str) -> bool {
    uci::switch(text).is_some() || (text.len() < 4 && text.bytes().all(|c| c.is_ascii_digit()))
}

/// Returns whether a package contains a secret. In listed section types, masked values count; in
/// other types, options whose name or value indicates a secret.
#[must_use]
pub fn holds_secret(package: &uci::Package) -> bool {
    let is_listed = |kind: &str| SHOWN.contains_key(kind) || kind.starts_with("wireguard_");
    package.sections.iter().any(|section| {
        let kind = section.kind.as_str();
        section.options.iter().any(|(option, setting)| {
            let mut texts = setting.texts().iter();
            if is_listed(kind) {
                texts.any(|text| shown(kind, option, text) != *text)
            } else {
                texts.any(|text| {
                    let is_named = is_secret_name(option) && !text.is_empty() && !is_switch(text);
                    is_named || is_secret_text(text)
                })
            }
        })
    })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-.+".contains(&c))
}

/// Returns whether a text is a host with an optional port. A password with a slash is rejected
/// here, because the text after its colon is not a port.
fn is_host(text: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|c| c.is_ascii_digit());
    if let Some((address, port)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        let is_address = address.bytes().all(|c| c.is_ascii_hexdigit() || b":.".contains(&c));
        return is_address && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = text.split_once(':').unwrap_or((text, ""));
    is_name(name) && is_port(port)
}

/// Returns whether a text has the form `user:password@host`.
fn has_password(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(user, _)| user.contains([':', '%']))
}

/// Returns whether a text contains a mask, which must not be stored in place of the secret.
#[must_use]
pub fn has_mask(text: &str) -> bool {
    text.contains(MASK)
}

#[cfg(test)]
mod tests;
