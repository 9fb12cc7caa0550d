// SPDX-License-Identifier: GPL-2.0-or-later
//! Computes bit rates of devices from two readings of `/proc/net/dev`.

use std::collections::HashMap;
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) rx_bps: u64,
    pub(crate) tx_bps: u64,
}

#[derive(Debug, Default)]
pub(crate) struct NetMeter {
    at: Duration,
    last: HashMap<String, (u64, u64)>,
    rates: HashMap<String, Rate>,
}

impl NetMeter {
    /// Parses `/proc/net/dev`, read at `now`. The rates cover the time since the previous reading.
    pub(crate) fn read(&mut self, text: &str, now: Duration) {
        let counters: HashMap<String, (u64, u64)> = text.lines().filter_map(parse_line).collect();
        let passed_ms = now.saturating_sub(self.at).as_millis().max(1);
        self.rates = counters
            .iter()
            .filter_map(|(name, now)| {
                let before = self.last.get(name)?;
                let rate = |now: u64, before: u64| {
                    // A recreated device starts from 0.
                    let bits = u128::from(now.saturating_sub(before)) * 8000;
                    u64::try_from(bits / passed_ms).unwrap_or(u64::MAX)
                };
                let rate = Rate { rx_bps: rate(now.0, before.0), tx_bps: rate(now.1, before.1) };
                Some((name.clone(), rate))
            })
            .collect();
        self.last = counters;
        self.at = now;
    }

    /// Returns the received and sent bytes of a device at the last reading.
    pub(crate) fn bytes(&self, device: &str) -> Option<(u64, u64)> {
        self.last.get(device).copied()
    }

    pub(crate) fn rate(&self, device: &str) -> Rate {
        self.rates.get(device).copied().unwrap_or_default()
    }
}

/// Parses `  wan: rx_bytes packets errs drop fifo frame compressed multicast tx_bytes …`
fn parse_line(line: &str) -> Option<(String, (u64, u64))> {
    let (name, rest) = line.split_once(':')?;
    let mut fields = rest.split_ascii_whitespace();
    let rx = fields.next()?.parse().ok()?;
    let tx = fields.nth(7)?.parse().ok()?;
    Some((name.trim().to_owned(), (rx, tx)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rx: u64, tx: u64) -> String {
        format!(
            "Inter-|   Receive |  Transmit\n face |bytes packets|bytes packets\n\
             \x20  wan: {rx} 2 3 4 5 6 7 8 {tx} 10 11 12 13 14 15 16\n"
        )
    }

    #[test]
    fn rates_are_bits_over_the_time_between_two_readings() {
        let mut meter = NetMeter::default();
        meter.read(&text(1000, 500), Duration::from_secs(10));
        assert_eq!(meter.rate("wan"), Rate::default());
        meter.read(&text(3000, 1500), Duration::from_secs(12));
        assert_eq!(meter.rate("wan"), Rate { rx_bps: 8000, tx_bps: 4000 });
        meter.read(&text(0, 0), Duration::from_secs(13));
        assert_eq!(meter.rate("wan"), Rate::default());
        assert_eq!(meter.rate("nosuch"), Rate::default());
    }
}
