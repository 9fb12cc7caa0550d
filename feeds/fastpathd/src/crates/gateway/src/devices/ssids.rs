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
    /// SSIDs that are off. `None` until the first answer: an earlier daemon may have switched some
    /// off.
    off: Option<Vec<String>>,
    next_at: Duration,
    has_failed: bool,
}

impl State {
    /// Returns the SSIDs to switch off if a request is due; all others are to be on. `scheduled`:
    /// some schedule names an SSID.
    pub(crate) fn second(
        &mut self,
        wanted: &[SsidOff],
        scheduled: bool,
        now: Duration,
    ) -> Option<Vec<String>> {
        let wanted: Vec<String> = wanted.iter().map(|off| off.ssid.clone()).collect();
        let is_same = match &self.off {
            Some(off) => *off == wanted && !self.has_failed,
            None => !scheduled,
        };
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
                self.off = Some(asked);
                (self.has_failed, self.next_at) = (false, now + REPEAT_INTERVAL);
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
        self.off.as_ref().is_some_and(|off| off.contains(&ssid.ssid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_changes_at_once_and_repeats_while_an_ssid_is_off() {
        let at = Duration::from_secs;
        let mut state = State::default();
        let second =
            |state: &mut State, off: &[SsidOff], now: u64| state.second(off, true, at(now));
        let off = [SsidOff { ssid: "Guests".to_owned(), until_ms: 0 }];
        let guests = Some(vec!["Guests".to_owned()]);
        assert_eq!(state.second(&[], false, at(0)), None);
        assert_eq!(second(&mut state, &off, 1), guests);
        assert_eq!(second(&mut state, &off, 2), None, "a request is running");
        assert!(!state.is_off(&off[0]));
        state.switched(Err("rpcd is gone".to_owned()), at(2));
        assert_eq!(second(&mut state, &off, 11), None);
        assert_eq!(second(&mut state, &off, 12), guests);
        state.switched(Ok(()), at(12));
        assert!(state.is_off(&off[0]));
        assert_eq!(second(&mut state, &off, 71), None);
        assert_eq!(second(&mut state, &off, 72), guests);
        state.switched(Ok(()), at(72));
        assert_eq!(second(&mut state, &[], 73), Some(Vec::new()));
        state.switched(Ok(()), at(73));
        assert_eq!(second(&mut state, &[], 1000), None);
    }

    #[test]
    fn an_ssid_that_an_earlier_daemon_switched_off_is_switched_on() {
        let mut state = State::default();
        assert_eq!(state.second(&[], true, Duration::ZERO), Some(Vec::new()));
        state.switched(Ok(()), Duration::ZERO);
        assert_eq!(state.second(&[], true, Duration::from_secs(1000)), None);
    }
}
