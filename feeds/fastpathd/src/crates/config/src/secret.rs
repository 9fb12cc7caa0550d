// SPDX-License-Identifier: GPL-2.0-or-later
//! Masks values that must not leave the router in replies, messages and logs. `shown.json` lists
//! the options that are shown, by section type; the collection for Ansible has a copy of it. All
//! others are masked, and of a URL only scheme and host are shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Replaces a secret in replies and logs; as a new value it means "unchanged".
pub const MASK: &str = "•••";

/// Options by section type; a type that ends with `_` is a prefix of types.
type Shown = BTreeMap<String, BTreeSet<String>>;

/// Empty if `shown.json` cannot be parsed, so that nothing is shown; a test parses it.
static SHOWN: LazyLock<Shown> =
    LazyLock::new(|| serde_json::from_str(include_str!("shown.json")).unwrap_or_default());

/// Returns whether the values of an option are shown in sections of a type.
#[must_use]
pub fn is_shown(kind: &str, option: &str) -> bool {
    let of_type = |kind: &str| SHOWN.get(kind).is_some_and(|options| options.contains(option));
    let beginning = kind.find('_').map_or("", |end| &kind[..=end]);
    of_type(kind) || of_type(beginning)
}

/// Returns an option's value as it may be shown for a section of a type.
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

/// Returns scheme, host and port of a URL, with a mask for the rest: a user, a path or a query may
/// be a password. Masks a text that is not a URL.
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

/// Parts of option names that hold secrets, for packages without listed options.
const SECRET: &[&str] =
    &["community", "credential", "pass", "psk", "pwd", "secret", "token", "uuid"];
/// Whole words in such names, since other words start like them: codec, ping.
const SECRET_PARTS: &[&str] =
    &["bearer", "code", "cookie", "hash", "otp", "pin", "pincode", "pw", "seed"];
/// Minimum length of mixed letters and digits in a row that counts as a secret.
const MAX_WORD_LEN: usize = 20;

fn is_secret_name(option: &str) -> bool {
    let option = option.to_ascii_lowercase();
    let mut parts = option.split('_').map(|part| part.trim_end_matches(char::is_numeric));
    SECRET.iter().any(|secret| option.contains(secret))
        || parts.any(|part| SECRET_PARTS.contains(&part) || part.ends_with("key"))
}

/// Returns whether a value may be a secret by its form: part of a URL, or a random-looking word.
fn is_secret_text(text: &str) -> bool {
    let is_random = |word: &str| {
        word.len() >= MAX_WORD_LEN
            && word.bytes().any(|c| c.is_ascii_digit())
            && word.bytes().any(|c| c.is_ascii_alphabetic())
    };
    has_password(text)
        || (text.contains("://") && shown_url(text) != text)
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_random)
}

/// Returns whether a text is a switch or a small number, which is never a secret.
fn is_switch(text: &str) -> bool {
    uci::switch(text).is_some() || (text.len() < 4 && text.bytes().all(|c| c.is_ascii_digit()))
}

/// Returns whether only root should read the file of a package: an option of a listed section type
/// is not shown, or another option is named like a secret or looks like one.
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

/// Returns whether a text is a host with an optional port. If a slash in a password ends it early,
/// the text after its colon is not a port.
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

/// Returns whether a text contains a mask; storing it would lose the secret.
#[must_use]
pub fn has_mask(text: &str) -> bool {
    text.contains(MASK)
}

#[cfg(test)]
mod tests;
