// SPDX-License-Identifier: GPL-2.0-or-later
//! Sends notifications to subscribers: `tick` once a second, and rate-limited `alert`.

use std::time::Duration;

use serde::Serialize;

use crate::bus::connection;
use crate::daemon::Daemon;

impl Daemon {
    pub(crate) fn notify_tick(&self) {
        if self.subscribed {
            self.notify("tick", &self.core.tick());
        }
    }

    pub(crate) fn notify_alerts(&mut self) {
        let newest = self.core.ips().newest_alert();
        let Some(since) = self.alerts_notified.due(newest, self.core.now().mono) else { return };
        if self.subscribed {
            self.notify("alert", &self.core.news(since));
        }
    }

    fn notify(&self, kind: &str, payload: &impl Serialize) {
        if let Some(bus) = &self.io.bus
            && let Err(error) = bus.notify(connection::OBJECT, kind, payload)
        {
            log::debug!("ubus: {kind}: {error}");
        }
    }
}

/// Rate limit of alert notifications: immediate after a pause, once a second in a flood.
#[derive(Debug, Default)]
pub(crate) struct AlertsNotified {
    last: u64,
    at: Option<Duration>,
}

impl AlertsNotified {
    /// Less than a second, so that a tick that is slightly early does not skip a notification.
    const NOTIFY_INTERVAL: Duration = Duration::from_millis(900);

    /// Starts after alert `last`, the newest one that the previous daemon has notified.
    pub(crate) fn after(last: u64) -> Self {
        Self { last, at: None }
    }

    /// Returns the newest notified id if a notification of later alerts is due.
    fn due(&mut self, newest: u64, now: Duration) -> Option<u64> {
        let elapsed = self.at.is_none_or(|at| now.saturating_sub(at) >= Self::NOTIFY_INTERVAL);
        if newest == self.last || !elapsed {
            return None;
        }
        self.at = Some(now);
        Some(std::mem::replace(&mut self.last, newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifies_an_alert_at_once_and_a_flood_once_a_second() {
        let ms = Duration::from_millis;
        let mut notified = AlertsNotified::default();
        assert_eq!(notified.due(0, ms(0)), None, "there is no alert");
        assert_eq!(notified.due(1, ms(300)), Some(0), "the first alert at once");
        assert_eq!(notified.due(1, ms(5000)), None, "already notified");
        assert_eq!(notified.due(2, ms(5100)), Some(1));
        assert_eq!(notified.due(3, ms(5200)), None, "too soon");
        assert_eq!(notified.due(9, ms(5999)), None);
        assert_eq!(notified.due(9, ms(6000)), Some(2), "a flood in one notification");
    }
}
