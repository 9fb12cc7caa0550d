// SPDX-License-Identifier: GPL-2.0-or-later
//! Has `fastpath.device`, which runs as root, switch SSIDs off and on at the edges of schedules.

use std::time::Duration;

use super::settings::SsidOff;

/// Interval of repetitions while an SSID is off, because a change of the configuration may have
/// switched it on.
const REPEAT_INTERVAL: Duration = Duration::from_secs(60);
/// Time from a failure to the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct State {
    /// SSIDs of the running request.
    asked: Option<Vec<String>>,
    /// SSIDs that are off.
    off: Vec<String>,
    next_at: Duration,
    has_failed: bool,
}

impl State {
    /// Returns the SSIDs to switch off if a request is due; all others are to be on.
    pub(crate) fn second(&mut self, wanted: &[SsidOff], now: Duration) -> Option<Vec<String>> {
        let wanted: Vec<String> = wanted.iter().map(|off| off.ssid.clone()).collect();
        let is_same = self.off == wanted && !self.has_failed;
        let waits = (is_same || self.has_failed) && now < self.next_at;
        if self.asked.is_some() || waits || is_same && wanted.is_empty() {
            return None;
        }
        self.asked = Some(wanted.clone());
        Some(wanted)
    }

    pub(crate) fn switched(&mut self, result: Result<(), String>, now: Duration) {
        let asked = self.asked.take().unwrap_or_default();
        match result {
            Ok(()) => {
                (self.off, self.has_failed, self.next_at) = (asked, false, now + REPEAT_INTERVAL);
            }
            Err(why) => {
                if !self.has_failed {
                    log::warn!("schedules of SSIDs: {why}; retrying");
                }
                (self.has_failed, self.next_at) = (true, now + RETRY_INTERVAL);
            }
        }
    }

    pub(crate) fn is_off(&self, ssid: &SsidOff) -> bool {
        self.off.contains(&ssid.ssid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_changes_at_once_and_repeats_while_an_ssid_is_off() {
        let at = Duration::from_secs;
        let mut state = State::default();
        let off = [SsidOff { ssid: "Guests".to_owned(), state: "schedule", until_ms: 0 }];
        let guests = Some(vec!["Guests".to_owned()]);
        assert_eq!(state.second(&[], at(0)), None);
        assert_eq!(state.second(&off, at(1)), guests);
        assert_eq!(state.second(&off, at(2)), None, "a request is running");
        assert!(!state.is_off(&off[0]));
        state.switched(Err("rpcd is gone".to_owned()), at(2));
        assert_eq!(state.second(&off, at(11)), None);
        assert_eq!(state.second(&off, at(12)), guests);
        state.switched(Ok(()), at(12));
        assert!(state.is_off(&off[0]));
        assert_eq!(state.second(&off, at(71)), None);
        assert_eq!(state.second(&off, at(72)), guests);
        state.switched(Ok(()), at(72));
        assert_eq!(state.second(&[], at(73)), Some(Vec::new()));
        state.switched(Ok(()), at(73));
        assert_eq!(state.second(&[], at(1000)), None);
    }
}
