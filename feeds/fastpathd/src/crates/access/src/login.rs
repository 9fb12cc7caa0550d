// SPDX-License-Identifier: GPL-2.0-or-later
//! Methods `begin`, `login` and `hash` of `fastpath.access`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plugin::{BusError, Call, CallReason, Map, Method, Object, Refusal, Sample, map};
use serde_json::{Value, json};
use ubus::Status;

use crate::account::Accounts;
use crate::browser::{KEY, Key, NONCE_KEY, NONCE_LIFETIME};
use crate::journal;
use crate::record::Record;
use crate::throttle::Client;

/// Time after boot during which accounts without a password may log in. rpcd accepts any password
/// for them, so a DNS-rebinding page could log in as well.
const EMPTY_PASSWORD_WINDOW: Duration = Duration::from_secs(15 * 60);
const MIN_PASSWORD_LEN: usize = 8;
/// Maximum length in bytes that `crypt(3)` of every libc supports.
const MAX_PASSWORD_LEN: usize = 256;

config::coded! {
    /// Reason for a refusal.
    pub enum LoginReason {
        Wrong = "wrong-password", "wrong name or password";
        Nonce = "nonce", "call fastpath.access begin, and login with its nonce within a minute";
        Empty { minutes: u64 } = "empty-password",
            "without a password, a login is possible only in the first {minutes} minutes after the \
             router has started: restart it, or set a password by ssh";
        Wait { wait_s: u64 } = "wait", "too many wrong passwords: try again in {wait_s} s";
        Length { shortest: usize, longest: usize, length: usize } = "password-length",
            "a password has {shortest} to {longest} bytes; this one has {length}";
    }
}

pub static OBJECT: Object = Object {
    name: "fastpath.access",
    methods: &[
        Method { name: "begin", args: &[], run: |_| Box::pin(async { begin(&Files::default()) }) },
        Method {
            name: "login",
            args: &[
                ("username", Sample::Text),
                ("password", Sample::Text),
                ("nonce", Sample::Text),
                ("timeout", Sample::Number),
                ("browser", Sample::Text),
            ],
            run: |call| Box::pin(login(call, Files::default())),
        },
        Method {
            name: "hash",
            args: &[("password", Sample::Text)],
            run: |call| Box::pin(async move { hash(&call) }),
        },
    ],
};

pub(crate) struct Files {
    pub record: Record,
    pub key: PathBuf,
    pub nonce_key: PathBuf,
    pub accounts: Accounts,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            record: Record::default(),
            key: KEY.into(),
            nonce_key: NONCE_KEY.into(),
            accounts: Accounts::default(),
        }
    }
}

/// Returns a nonce for `login`. A page of another origin cannot read it, so it cannot log in.
pub(crate) fn begin(files: &Files) -> Result<Map, Refusal> {
    // The lock of the record prevents concurrent calls from creating two keys.
    let made =
        files.record.update(|_, now| Key::of_file(&files.nonce_key).map(|key| key.nonce(now)));
    let nonce = made.map_err(|error| unusable(&error))?.map_err(|error| {
        let (path, said) = (files.nonce_key.display().to_string(), error.to_string());
        Refusal::new("failed", CallReason::File { what: "writing", path, said })
    })?;
    Ok(map([("nonce", nonce.into()), ("valid_s", NONCE_LIFETIME.as_secs().into())]))
}

/// Hashes a password for `/etc/config/rpcd`, so that drafts never contain the password.
fn hash(call: &Call) -> Result<Map, Refusal> {
    let password = call.text("password")?.unwrap_or_default();
    if !(MIN_PASSWORD_LEN..=MAX_PASSWORD_LEN).contains(&password.len()) {
        let (shortest, longest, length) = (MIN_PASSWORD_LEN, MAX_PASSWORD_LEN, password.len());
        return Err(Refusal::new("argument", LoginReason::Length { shortest, longest, length }));
    }
    let hash = crate::crypt::hash(password).map_err(|error| {
        let (path, said) = ("/dev/urandom".to_owned(), error.to_string());
        Refusal::new("failed", CallReason::File { what: "reading", path, said })
    })?;
    Ok(map([("hash", hash.into())]))
}

/// Admits an attempt and counts it as failed. Refuses an attempt without a fresh nonce, uncounted.
fn admit(files: &Files, attempt: &Attempt, client: Client<'_>) -> Result<(), Refusal> {
    let admitted = files.record.update(|throttle, now| {
        let key = Key::stored(&files.nonce_key);
        if !key.is_some_and(|key| key.is_fresh(&attempt.nonce, now)) {
            return Err(Refusal::new("nonce", LoginReason::Nonce));
        }
        let is_open = attempt.password.is_empty() || files.accounts.lacks_password(&attempt.name);
        if is_open && now > EMPTY_PASSWORD_WINDOW {
            let minutes = EMPTY_PASSWORD_WINDOW.as_secs() / 60;
            let refusal = Refusal::new("denied", LoginReason::Empty { minutes });
            return Err(refusal.with("wait_s", json!(0)));
        }
        throttle.admit(client, now).map(|_| ()).map_err(wait_refusal)
    });
    admitted.map_err(|error| unusable(&error))?
}

struct Attempt {
    name: String,
    password: String,
    nonce: String,
    timeout: Option<u64>,
    token: String,
}

impl Attempt {
    fn of(call: &Call) -> Result<Self, Refusal> {
        let missing = |argument| Refusal::new("argument", CallReason::Missing { argument });
        Ok(Self {
            name: call.text("username")?.ok_or_else(|| missing("username"))?.to_owned(),
            password: call.text("password")?.ok_or_else(|| missing("password"))?.to_owned(),
            nonce: call.text("nonce")?.unwrap_or_default().to_owned(),
            timeout: call.number("timeout")?,
            token: call.text("browser")?.unwrap_or_default().to_owned(),
        })
    }
}

pub(crate) async fn login(call: Call, files: Files) -> Result<Map, Refusal> {
    let attempt = Attempt::of(&call)?;
    let Files { record, key, .. } = &files;
    let Attempt { name, token, .. } = &attempt;
    let browser = Key::stored(key).and_then(|key| key.browser(name, token));
    let client = match browser.as_deref() {
        Some(number) => Client::Browser { name, number },
        None if files.accounts.has(name) => Client::Account(name),
        None => Client::Unknown(name),
    };
    admit(&files, &attempt, client)?;

    let password = attempt.password.clone().into();
    let mut args = map([("username", name.clone().into()), ("password", password)]);
    if let Some(seconds) = attempt.timeout {
        args.insert("timeout".to_owned(), seconds.into());
    }
    match call.bus.call("session", "login", &args).await {
        Ok(mut session) => {
            let failures = record
                .update(|throttle, _| throttle.passed(client))
                .map_err(|error| unusable(&error))?;
            journal::info(&login_message(name, failures));
            let token = if browser.is_some() { Ok(token.clone()) } else { new_token(key, name) };
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
        Err(error) if is_wrong_password(&error) => {
            let wait = record
                .update(|throttle, now| throttle.wait(client, now))
                .map_err(|error| unusable(&error))?;
            let name = journal::spelled(name);
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

fn new_token(key: &Path, name: &str) -> std::io::Result<String> {
    Key::of_file(key)?.token(name)
}

/// Returns whether rpcd refused the login; rpcd does not distinguish a wrong name from a wrong
/// password.
fn is_wrong_password(error: &BusError) -> bool {
    error.status() == Status::PermissionDenied
}

fn login_message(name: &str, failures: u32) -> String {
    let name = journal::spelled(name);
    match failures {
        0 => format!("{name} logged in"),
        n => format!("{name} logged in after {n} wrong passwords"),
    }
}

fn wait_refusal(wait: Duration) -> Refusal {
    let wait_s = whole_seconds(wait);
    Refusal::new("wait", LoginReason::Wait { wait_s }).with("wait_s", Value::from(wait_s))
}

fn unusable(error: &crate::RecordError) -> Refusal {
    Refusal::new("failed", error.reason())
}

/// Rounds up, so that a retry after the delay is never too early.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests;
