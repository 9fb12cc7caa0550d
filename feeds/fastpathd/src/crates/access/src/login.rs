// SPDX-License-Identifier: GPL-2.0-or-later
//! Methods `login` and `hash` of `fastpath.access`: arguments, answers, the refusals `denied` and
//! `wait` with their seconds, and the shortest and longest password of an account.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plugin::{BusError, Call, CallReason, Map, Method, Object, Refusal, Sample, map};
use serde_json::{Value, json};
use ubus::Status;

use crate::browser::{KEY, Key};
use crate::journal;
use crate::record::Record;
use crate::throttle::Client;

/// The shortest password that is taken for an account.
const SHORTEST: usize = 8;
/// The longest that crypt(3) reads completely on every libc.
const LONGEST: usize = 256;

config::coded! {
    /// Why a login, or a hash, is refused.
    pub enum LoginReason {
        Wrong = "wrong-password", "wrong name or password";
        Wait { wait_s: u64 } = "wait", "too many wrong passwords: try again in {wait_s} s";
        Length { shortest: usize, longest: usize, length: usize } = "password-length",
            "a password has {shortest} to {longest} bytes; this one has {length}";
    }
}

/// `fastpath.access`: method `login {username, password, timeout, browser}` answers as rpcd's
/// `session login` does, and with a token `browser` for the next login of that name: attempts with
/// it are counted apart. It refuses with `denied` (wrong name or password) or `wait` (not even
/// asked), both with `wait_s`, the seconds to the next attempt that will be asked.
/// Method `hash {password}` answers `{hash}` as rpcd compares it.
pub const OBJECT: Object = Object {
    name: "fastpath.access",
    methods: &[
        Method {
            name: "login",
            args: &[
                ("username", Sample::Text),
                ("password", Sample::Text),
                ("timeout", Sample::Number),
                ("browser", Sample::Text),
            ],
            run: |call| Box::pin(login(call, Record::default(), KEY.into())),
        },
        Method {
            name: "hash",
            args: &[("password", Sample::Text)],
            run: |call| Box::pin(async move { hash(&call) }),
        },
    ],
};

/// The hash of a password, for `/etc/config/rpcd`: the page does not forward the password itself.
fn hash(call: &Call) -> Result<Map, Refusal> {
    let password = call.text("password")?.unwrap_or_default();
    if !(SHORTEST..=LONGEST).contains(&password.len()) {
        let (shortest, longest, length) = (SHORTEST, LONGEST, password.len());
        return Err(Refusal::new("argument", LoginReason::Length { shortest, longest, length }));
    }
    let hash = crate::crypt::hash(password).map_err(|error| {
        let (path, said) = ("/dev/urandom".to_owned(), error.to_string());
        Refusal::new("failed", CallReason::File { what: "reading", path, said })
    })?;
    Ok(map([("hash", hash.into())]))
}

pub(crate) async fn login(call: Call, record: Record, key: PathBuf) -> Result<Map, Refusal> {
    let missing = |argument| Refusal::new("argument", CallReason::Missing { argument });
    let name = call.text("username")?.ok_or_else(|| missing("username"))?.to_owned();
    let password = call.text("password")?.ok_or_else(|| missing("password"))?.to_owned();
    let timeout = call.number("timeout")?;
    let token = call.text("browser")?.unwrap_or_default();
    let browser = Key::stored(&key).and_then(|key| key.browser(&name, token));
    let client = browser.as_deref().map_or(Client::Any(&name), Client::Browser);

    let admitted = record.update(|throttle, now| throttle.admit(client, now));
    admitted.map_err(|error| unusable(&error))?.map_err(slow)?;

    let mut args = map([("username", name.clone().into()), ("password", password.into())]);
    if let Some(seconds) = timeout {
        args.insert("timeout".to_owned(), seconds.into());
    }
    match call.bus.call("session", "login", &args).await {
        Ok(mut session) => {
            let failures = record
                .update(|throttle, _| throttle.passed(client))
                .map_err(|error| unusable(&error))?;
            journal::info(&passed_words(&name, failures));
            let token = if browser.is_some() { Ok(token.to_owned()) } else { new(&key, &name) };
            match token {
                Ok(token) => {
                    session.insert("browser".to_owned(), token.into());
                }
                Err(error) => {
                    journal::warn(&format!(
                        "no token for this browser: {}: {error}",
                        key.display()
                    ));
                }
            }
            Ok(session)
        }
        Err(error) if wrong(&error) => {
            let wait = record
                .update(|throttle, now| throttle.wait(client, now))
                .map_err(|error| unusable(&error))?;
            let name = journal::spelled(&name);
            let wait_s = whole_seconds(wait);
            journal::warn(&format!("wrong password for {name}; next attempt in {wait_s} s"));
            Err(Refusal::new("denied", LoginReason::Wrong).with("wait_s", json!(wait_s)))
        }
        Err(error) => {
            record
                .update(|throttle, _| throttle.unanswered(client))
                .map_err(|error| unusable(&error))?;
            Err(error.into())
        }
    }
}

fn new(key: &Path, name: &str) -> std::io::Result<String> {
    Key::of_file(key)?.token(name)
}

/// rpcd's answer to a wrong name and to a wrong password alike.
fn wrong(error: &BusError) -> bool {
    error.status() == Status::PermissionDenied
}

fn passed_words(name: &str, failures: u32) -> String {
    let name = journal::spelled(name);
    match failures {
        0 => format!("{name} logged in"),
        n => format!("{name} logged in after {n} wrong passwords"),
    }
}

fn slow(wait: Duration) -> Refusal {
    let wait_s = whole_seconds(wait);
    Refusal::new("wait", LoginReason::Wait { wait_s }).with("wait_s", Value::from(wait_s))
}

fn unusable(error: &crate::RecordError) -> Refusal {
    Refusal::new("failed", error.reason())
}

/// Never less than it takes.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
