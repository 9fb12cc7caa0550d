// SPDX-License-Identifier: GPL-2.0-or-later
//! Logins: users and passwords (`config login` in `/etc/config/rpcd`, shadow file) and the access
//! groups they are granted (`acl.d/*.json`).

use std::path::PathBuf;

use serde_json::Value;
use ubus::Map;

use super::Grants;
use crate::pattern;
use crate::uci::{Package, Section};

/// Files of the accounts; like rpcd, every login reads them.
#[derive(Clone, Debug)]
pub struct Accounts {
    pub config: PathBuf,
    pub shadow: PathBuf,
    pub acl: PathBuf,
}

impl Accounts {
    /// Returns the rights of `user`; `None` if the password is wrong or the user has no login.
    #[must_use]
    pub fn log_in(&self, user: &str, password: &str) -> Option<Grants> {
        let text = std::fs::read_to_string(self.config.join("rpcd")).ok()?;
        let rpcd = Package::parse("rpcd", &text)
            .inspect_err(|error| log::error!("reading the logins: {error}"))
            .ok()?;
        let fits = |section: &&Section| {
            let option = |name| section.option(name).and_then(|value| value.text());
            section.kind == "login"
                && option("username") == Some(user)
                && option("password").is_some_and(|hash| self.knows(hash, password))
        };
        rpcd.sections.iter().find(fits).map(|login| self.grants(Some(login)))
    }

    /// Returns the rights of clients that are not logged in.
    #[must_use]
    pub fn nobody(&self) -> Grants {
        self.grants(None)
    }

    fn knows(&self, hash: &str, password: &str) -> bool {
        match hash.strip_prefix("$p$") {
            None => password_matches(hash, password),
            Some(user) => self.shadow_hash(user).is_some_and(|h| password_matches(&h, password)),
        }
    }

    fn shadow_hash(&self, user: &str) -> Option<String> {
        let text = std::fs::read_to_string(&self.shadow)
            .inspect_err(|error| log::error!("reading {}: {error}", self.shadow.display()))
            .ok()?;
        let of_line = |line: &str| {
            let (name, rest) = line.split_once(':')?;
            (name == user).then(|| rest.split(':').next().unwrap_or_default().to_owned())
        };
        text.lines().find_map(of_line)
    }

    fn grants(&self, login: Option<&Section>) -> Grants {
        let mut grants = Grants::default();
        for (_, groups) in crate::json::objects_in(&self.acl) {
            for (group, permissions) in &groups {
                for level in ["read", "write"] {
                    let scopes = permissions.get(level).and_then(Value::as_object);
                    if let Some(scopes) = scopes.filter(|_| has_group(login, level, group)) {
                        add_scopes(&mut grants, scopes, level);
                        if !scopes.is_empty() {
                            grants.grant("access-group", group, level);
                        }
                    }
                }
            }
        }
        grants
    }
}

/// Returns whether the login has the group. `!name` denies it, and write access includes read.
fn has_group(login: Option<&Section>, level: &str, group: &str) -> bool {
    let Some(section) = login else { return group == "unauthenticated" };
    let entries = section.option(level).map(|value| value.list()).unwrap_or_default();
    let forbids = |entry: &&str| {
        let name = entry.strip_prefix('!').map(str::trim_start);
        name.is_some_and(|name| !name.is_empty() && pattern::matches(name, group))
    };
    let allows = |entry: &&str| {
        !entry.is_empty() && !entry.starts_with('!') && pattern::matches(entry, group)
    };
    if entries.iter().any(forbids) {
        return false;
    }
    entries.iter().any(allows) || (level == "read" && has_group(login, "write", group))
}

/// Adds rights. A scope is `{object: [function, …]}`, or `[object, …]` with `level` as function.
fn add_scopes(grants: &mut Grants, scopes: &Map, level: &str) {
    for (scope, objects) in scopes {
        match objects {
            Value::Object(objects) => {
                for (object, functions) in objects {
                    let functions = functions.as_array().into_iter().flatten();
                    for function in functions.filter_map(Value::as_str) {
                        grants.grant(scope, object, function);
                    }
                }
            }
            Value::Array(objects) => {
                for object in objects.iter().filter_map(Value::as_str) {
                    grants.grant(scope, object, level);
                }
            }
            _ => {}
        }
    }
}

/// Verifies a password by SHA-256 (`$5$`) or SHA-512 (`$6$`). An empty hash accepts any password;
/// an unknown hash or a locked account (`*`, `!`) accepts none.
#[must_use]
pub fn password_matches(hash: &str, password: &str) -> bool {
    use sha_crypt::PasswordVerifier;
    hash.is_empty()
        || sha_crypt::ShaCrypt::default().verify_password(password.as_bytes(), hash).is_ok()
}
