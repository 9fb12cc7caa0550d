// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes log lines about dropped packets: at most one a second and 20 at once, with the number of
//! those left out. Proven sources have their own limit, which forged sources cannot use up.

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
    left_out: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        let rate = Rate { per_second: 1, burst: 20 };
        Self { proven: Bucket::new(rate), others: Bucket::new(rate), left_out: 0 }
    }
}

impl LogLimits {
    /// Returns the line for an alert; `None` if the packet passed or the limit is reached.
    pub(super) fn line(&mut self, now: Duration, alert: &Alert) -> Option<String> {
        if !alert.blocked {
            return None;
        }
        let proven = alert.offence.as_ref().is_some_and(|offence| offence.proven);
        let bucket = if proven { &mut self.proven } else { &mut self.others };
        if !bucket.take(now) {
            self.left_out += 1;
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
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            let _ = write!(line, "; {left_out} more alerts were not logged");
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

/// Escapes all but printable ASCII, and shortens long texts.
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
