// SPDX-License-Identifier: GPL-2.0-or-later
//! Delays after wrong passwords: per name, per browser of an earlier login, and for all names
//! together.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

const FREE: u32 = 4;
/// Maximum delay of one name. Allows at most 1440 attempts a day, including the free ones.
const MAX_WAIT: Duration = Duration::from_secs(64);
/// Failures of all names together without a delay. Too few to try a list of names.
const FREE_IN_ALL: u32 = 40;
/// Maximum delay between attempts with changing names.
const MAX_TOTAL_WAIT: Duration = Duration::from_secs(2);
/// Failures expire after this time without another failure.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);
/// Limit of names without an account. Entries with the fewest failures are evicted first.
const NAMES: usize = 64;
/// Limit of browsers per account. Separate limits keep one account from evicting another's tokens.
const BROWSERS: usize = 16;
/// Length in bytes to which names are truncated.
const NAME_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    failures: u32,
    /// Time of the last failure, in milliseconds since boot.
    last_ms: u64,
}

impl Failures {
    /// Returns the remaining delay. Zero if an attempt is allowed.
    fn wait(self, now: Duration, free: u32, longest: Duration) -> Duration {
        let Some(beyond) = self.failures.checked_sub(free) else { return Duration::ZERO };
        let seconds = 1u64.checked_shl(beyond).unwrap_or(u64::MAX);
        let pause = Duration::from_secs(seconds).min(longest);
        (Duration::from_millis(self.last_ms) + pause).saturating_sub(now)
    }

    fn count(&mut self, now: Duration) {
        self.failures = self.remembered(now).failures.saturating_add(1);
        self.last_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    }

    fn remembered(self, now: Duration) -> Failures {
        let old = now.saturating_sub(Duration::from_millis(self.last_ms)) > REMEMBERED;
        if old { Failures::default() } else { self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client<'a> {
    /// A client without a token that names an account.
    Account(&'a str),
    /// A client without a token that names no account.
    Unknown(&'a str),
    /// A browser of an earlier login, counted separately.
    Browser { name: &'a str, number: &'a str },
}

impl Client<'_> {
    fn key(self) -> String {
        match self {
            Client::Account(name) | Client::Unknown(name) => key(name).to_owned(),
            Client::Browser { name, number } => format!("{} {}", key(number), key(name)),
        }
    }

    /// Returns whether attempts also count for all names together.
    fn is_stranger(self) -> bool {
        match self {
            Client::Account(_) | Client::Unknown(_) => true,
            Client::Browser { .. } => false,
        }
    }
}

/// Recent failures. Times are relative to boot, so that setting the clock does not end a delay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginThrottle {
    accounts: BTreeMap<String, Failures>,
    names: BTreeMap<String, Failures>,
    browsers: BTreeMap<String, Failures>,
    all: Failures,
}

impl LoginThrottle {
    /// Admits an attempt and counts it as failed until [`Self::passed`] or [`Self::unanswered`], so
    /// that parallel attempts count, too. Returns the failures of the name or browser.
    ///
    /// # Errors
    /// The remaining delay.
    pub fn admit(&mut self, client: Client<'_>, now: Duration) -> Result<u32, Duration> {
        self.expire(now);
        let wait = self.wait(client, now);
        if !wait.is_zero() {
            return Err(wait);
        }
        if client.is_stranger() {
            self.all.count(now);
        }
        let own = self.entries_mut(client).entry(client.key()).or_default();
        own.count(now);
        let failures = own.failures;
        self.make_room(client);
        Ok(failures)
    }

    /// Records a correct password and returns the number of failures before it. A browser's login
    /// keeps failures of other clients with the same name.
    pub fn passed(&mut self, client: Client<'_>) -> u32 {
        self.uncount(client);
        let own = self.entries_mut(client).remove(&client.key());
        own.map_or(0, |own| own.failures.saturating_sub(1))
    }

    /// Uncounts an attempt that rpcd did not answer.
    pub fn unanswered(&mut self, client: Client<'_>) {
        self.uncount(client);
        if let Some(own) = self.entries_mut(client).get_mut(&client.key()) {
            own.failures = own.failures.saturating_sub(1);
        }
    }

    #[must_use]
    pub fn wait(&self, client: Client<'_>, now: Duration) -> Duration {
        let entries = match client {
            Client::Account(_) => &self.accounts,
            Client::Unknown(_) => &self.names,
            Client::Browser { .. } => &self.browsers,
        };
        let own = entries.get(&client.key()).copied().unwrap_or_default();
        let own = own.wait(now, FREE, MAX_WAIT);
        if client.is_stranger() {
            own.max(self.all.wait(now, FREE_IN_ALL, MAX_TOTAL_WAIT))
        } else {
            own
        }
    }

    fn entries_mut(&mut self, client: Client<'_>) -> &mut BTreeMap<String, Failures> {
        match client {
            Client::Account(_) => &mut self.accounts,
            Client::Unknown(_) => &mut self.names,
            Client::Browser { .. } => &mut self.browsers,
        }
    }

    fn uncount(&mut self, client: Client<'_>) {
        if client.is_stranger() {
            self.all.failures = self.all.failures.saturating_sub(1);
        }
    }

    fn make_room(&mut self, client: Client<'_>) {
        match client {
            Client::Account(_) => {}
            Client::Unknown(_) => evict(&mut self.names, "", NAMES),
            Client::Browser { name, .. } => {
                evict(&mut self.browsers, &format!(" {}", key(name)), BROWSERS);
            }
        }
    }

    fn expire(&mut self, now: Duration) {
        self.all = self.all.remembered(now);
        for known in [&mut self.accounts, &mut self.names, &mut self.browsers] {
            known.retain(|_, own| own.remembered(now) == *own);
        }
    }
}

/// Evicts entries with this ending, fewest failures first, until `limit` of them are left.
fn evict(entries: &mut BTreeMap<String, Failures>, ending: &str, limit: usize) {
    let ours = |name: &String| name.ends_with(ending);
    while entries.keys().filter(|name| ours(name)).count() > limit {
        let candidates = entries.iter().filter(|(name, _)| ours(name));
        let fewest = candidates.min_by_key(|(_, of)| (of.failures, of.last_ms));
        let Some(name) = fewest.map(|(name, _)| name.clone()) else { return };
        entries.remove(&name);
    }
}

fn key(name: &str) -> &str {
    let end = (0..=NAME_BYTES.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    &name[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests;
