// SPDX-License-Identifier: GPL-2.0-or-later
//! Log lines about dropped packets, rate-limited to one a second with a burst of 20. Proven sources
//! have a separate limit, which forged sources cannot exhaust.

use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

use super::alert::Alert;
use super::rate::{Bucket, Rate};

/// Maximum length of a text from the network or a rule, characters.
const MAX_LEN: usize = 120;

#[derive(Debug)]
pub(super) struct LogLimits {
    proven: Bucket,
    others: Bucket,
    suppressed: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        let rate = Rate { per_second: 1, burst: 20 };
        Self { proven: Bucket::new(rate), others: Bucket::new(rate), suppressed: 0 }
    }
}

impl LogLimits {
    /// Returns the line for an alert. `None` if the packet passed or the limit is reached.
    pub(super) fn line(&mut self, now: Duration, alert: &Alert) -> Option<String> {
        if !alert.blocked {
            return None;
        }
        let proven = alert.offence.as_ref().is_some_and(|offence| offence.proven);
        let bucket = if proven { &mut self.proven } else { &mut self.others };
        if !bucket.take(now) {
            self.suppressed += 1;
            return None;
        }
        let mut line = format!(
            "alert: packet dropped, {} {} -> {}, rule {}:{} \"{}\"",
            escaped(&alert.proto),
            end(alert.src, alert.sport),
            end(alert.dst, alert.dport),
            alert.gid,
            alert.sid,
            escaped(&alert.signature),
        );
        let suppressed = std::mem::take(&mut self.suppressed);
        if suppressed > 0 {
            let _ = write!(line, "; {suppressed} more alerts were not logged");
        }
        Some(line)
    }
}

fn end(address: Option<IpAddr>, port: u16) -> String {
    match (address, port) {
        (None, _) => "?".to_owned(),
        (Some(address), 0) => address.to_string(),
        (Some(address), _) => std::net::SocketAddr::new(address, port).to_string(),
    }
}

fn escaped(text: &str) -> String {
    let mut chars = text.chars();
    let mut escaped: String = chars.by_ref().take(MAX_LEN).flat_map(char::escape_default).collect();
    if chars.next().is_some() {
        escaped.push_str("...");
    }
    escaped
}

#[cfg(test)]
mod tests;
