// SPDX-License-Identifier: GPL-2.0-or-later
//! Delays after wrong passwords: how many wrong passwords are free, how the pause then doubles and
//! how long it gets, for each name, for all names together, and for each browser that has logged in
//! before; when failures are forgotten, and how many names and browsers are remembered.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Mistyped passwords that cost nothing.
const FREE: u32 = 4;
/// The longest that one name is refused. An attacker has 1440 attempts a day. They keep the owner
/// of the name out of browsers in which nobody has logged in as the owner before; the others have
/// failures of their own, and by ssh dropbear counts for itself.
const LONGEST: Duration = Duration::from_secs(60);
/// Attempts under any names that cost nothing: a household that forgot its password, not a list
/// of names to be tried.
const FREE_IN_ALL: u32 = 40;
/// The longest that everybody is refused: two seconds between attempts under changing names.
const LONGEST_IN_ALL: Duration = Duration::from_secs(2);
/// Failures count until there was none for so long.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);
/// Names remembered at once, and browsers. Of more, those with the fewest failures are forgotten,
/// so that a flood of invented names does not forgive the failures of a real one.
const NAMES: usize = 64;
/// Bytes of a name that are kept: of longer ones the rest makes no difference here.
const NAME_BYTES: usize = 64;

/// Failures in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// How many.
    failures: u32,
    /// When the last one was, in milliseconds since the router started.
    last_ms: u64,
}

impl Failures {
    /// How much longer to wait; zero: not at all.
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

/// Who makes an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client<'a> {
    /// Anybody, under this name.
    Any(&'a str),
    /// A browser in which the user has logged in before, by its number. Whatever others do, it is
    /// not refused, and its failures do not count for them.
    Browser(&'a str),
}

/// The failed attempts of late. Times are since the router started, as is the file that keeps it:
/// both start again with a reboot, and setting the clock gains nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoginThrottle {
    names: BTreeMap<String, Failures>,
    browsers: BTreeMap<String, Failures>,
    all: Failures,
}

impl LoginThrottle {
    /// Lets an attempt of `client` go ahead, and counts it as failed until [`Self::passed`] or
    /// [`Self::unanswered`] says otherwise: many attempts at once are as good as one after the
    /// other. Answers how many failures that makes for the name, or for the browser.
    ///
    /// # Errors
    /// How long to wait.
    pub fn admit(&mut self, client: Client<'_>, now: Duration) -> Result<u32, Duration> {
        self.forget(now);
        let wait = self.wait(client, now);
        if !wait.is_zero() {
            return Err(wait);
        }
        let (counted, name) = match client {
            Client::Any(name) => {
                self.all.count(now);
                (&mut self.names, name)
            }
            Client::Browser(number) => (&mut self.browsers, number),
        };
        let own = counted.entry(key(name).to_owned()).or_default();
        own.count(now);
        let failures = own.failures;
        make_room(counted);
        Ok(failures)
    }

    /// The attempt was right. Answers how many failures there had been before it.
    pub fn passed(&mut self, client: Client<'_>) -> u32 {
        let own = match client {
            Client::Any(name) => {
                self.all.failures = self.all.failures.saturating_sub(1);
                self.names.remove(key(name))
            }
            // Failures under the name are those of others.
            Client::Browser(number) => self.browsers.remove(key(number)),
        };
        own.map_or(0, |own| own.failures.saturating_sub(1))
    }

    /// Nobody answered whether it was right.
    pub fn unanswered(&mut self, client: Client<'_>) {
        let own = match client {
            Client::Any(name) => {
                self.all.failures = self.all.failures.saturating_sub(1);
                self.names.get_mut(key(name))
            }
            Client::Browser(number) => self.browsers.get_mut(key(number)),
        };
        if let Some(own) = own {
            own.failures = own.failures.saturating_sub(1);
        }
    }

    /// How long the next attempt of `client` has to wait.
    #[must_use]
    pub fn wait(&self, client: Client<'_>, now: Duration) -> Duration {
        let (known, name, all) = match client {
            Client::Any(name) => {
                (&self.names, name, self.all.wait(now, FREE_IN_ALL, LONGEST_IN_ALL))
            }
            Client::Browser(number) => (&self.browsers, number, Duration::ZERO),
        };
        let own = known.get(key(name)).copied().unwrap_or_default();
        own.wait(now, FREE, LONGEST).max(all)
    }

    fn forget(&mut self, now: Duration) {
        self.all = self.all.remembered(now);
        for known in [&mut self.names, &mut self.browsers] {
            known.retain(|_, own| own.remembered(now) == *own);
        }
    }
}

fn make_room(known: &mut BTreeMap<String, Failures>) {
    while known.len() > NAMES {
        let fewest = known.iter().min_by_key(|(_, of)| (of.failures, of.last_ms));
        let Some(name) = fewest.map(|(name, _)| name.clone()) else { return };
        known.remove(&name);
    }
}

fn key(name: &str) -> &str {
    let end = (0..=NAME_BYTES.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    &name[..end.unwrap_or(0)]
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
