// SPDX-License-Identifier: GPL-2.0-or-later
//! Counts the reconnects of each interface since the daemon started. netifd's uptimes also show an
//! interface that was down between two readings.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::network::interfaces::Interface;

/// Tolerance of start times, because netifd's uptimes are whole seconds.
const ROUNDING: Duration = Duration::from_secs(2);
/// Tolerance for an interface that was not seen down, because netifd's answer may be handled late.
const DELAY: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
struct Known {
    /// Earliest estimate of the last start; `None` if the interface has not been up yet.
    up_since: Option<Duration>,
    /// The last reading found the interface down.
    down: bool,
    times: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Reconnects(BTreeMap<String, Known>);

impl Reconnects {
    /// Handles interfaces as netifd reports them at `now`. Drops interfaces that are gone.
    pub(crate) fn read(&mut self, interfaces: &[Interface], now: Duration) {
        self.0.retain(|name, _| interfaces.iter().any(|interface| interface.name == *name));
        for interface in interfaces {
            let known = self.0.entry(interface.name.clone()).or_default();
            let down = std::mem::replace(&mut known.down, !interface.up);
            if known.down {
                continue;
            }
            // The interface may have been up before the daemon started.
            let since = now.saturating_sub(Duration::from_secs(interface.uptime_s));
            let tolerance = if down { ROUNDING } else { DELAY };
            known.up_since = Some(match known.up_since {
                Some(before) if since < before + tolerance => before.min(since),
                Some(_) => {
                    known.times += 1;
                    since
                }
                None => since,
            });
        }
    }

    pub(crate) fn of(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |known| known.times)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::network::interfaces::{Firewall, parse_dump};

    fn read(reconnects: &mut Reconnects, second: u64, uptime_s: Option<u64>) -> u64 {
        let dump = json!({"interface": [{
            "interface": "wan", "up": uptime_s.is_some(), "uptime": uptime_s, "proto": "pppoe",
        }]});
        let interfaces = parse_dump(&dump, &Firewall::default());
        reconnects.read(&interfaces, Duration::from_millis(second * 1000 + 700));
        reconnects.of("wan")
    }

    #[test]
    fn a_shorter_uptime_is_a_reconnect() {
        let mut reconnects = Reconnects::default();
        assert_eq!(read(&mut reconnects, 5, Some(3600)), 0, "up before the daemon");
        assert_eq!(read(&mut reconnects, 15, Some(3610)), 0);
        assert_eq!(read(&mut reconnects, 25, Some(4)), 1);
        assert_eq!(read(&mut reconnects, 35, Some(13)), 1, "rounded");
        assert_eq!(read(&mut reconnects, 45, Some(24)), 1);
    }

    /// The uptime is older than `now` if netifd's answer is handled late.
    #[test]
    fn a_delayed_answer_is_not_a_reconnect() {
        let mut reconnects = Reconnects::default();
        assert_eq!(read(&mut reconnects, 5, Some(3)), 0);
        assert_eq!(read(&mut reconnects, 19, Some(13)), 0, "4 s late");
        assert_eq!(read(&mut reconnects, 25, Some(23)), 0);
        assert_eq!(read(&mut reconnects, 31, Some(25)), 0, "late again");
        // The first answer arrives late.
        let mut reconnects = Reconnects::default();
        assert_eq!(read(&mut reconnects, 9, Some(3)), 0);
        assert_eq!(read(&mut reconnects, 15, Some(13)), 0);
        assert_eq!(read(&mut reconnects, 25, Some(20)), 0);
        assert_eq!(read(&mut reconnects, 35, Some(4)), 1);
    }

    /// Sessions may follow each other within seconds.
    #[test]
    fn a_short_session_that_was_seen_to_end_counts() {
        let mut reconnects = Reconnects::default();
        assert_eq!(read(&mut reconnects, 5, Some(0)), 0);
        assert_eq!(read(&mut reconnects, 7, None), 0);
        assert_eq!(read(&mut reconnects, 9, Some(0)), 1);
        assert_eq!(read(&mut reconnects, 19, Some(10)), 1);
    }

    #[test]
    fn an_interface_that_was_seen_down_counts_once() {
        let mut reconnects = Reconnects::default();
        assert_eq!(read(&mut reconnects, 5, None), 0);
        assert_eq!(read(&mut reconnects, 15, Some(3)), 0, "the first connection");
        assert_eq!(read(&mut reconnects, 25, None), 0);
        assert_eq!(read(&mut reconnects, 35, Some(5)), 1);
        assert_eq!(read(&mut reconnects, 45, Some(15)), 1);
        reconnects.read(&[], Duration::from_secs(50));
        assert_eq!(reconnects.of("wan"), 0);
    }
}
