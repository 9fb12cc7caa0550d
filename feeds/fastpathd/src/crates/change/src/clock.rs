// SPDX-License-Identifier: GPL-2.0-or-later
//! The router's two clocks.

use std::time::{SystemTime, UNIX_EPOCH};

/// Unix milliseconds. A router without a battery begins wrong and is set later.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since boot, which nobody sets.
pub(crate) fn up_ms() -> u64 {
    std::fs::read_to_string("/proc/uptime").ok().and_then(|text| uptime(&text)).unwrap_or_default()
}

/// The first number of `/proc/uptime`: seconds with two digits behind the point.
fn uptime(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1000 + hundredths.parse::<u64>().ok()? * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_is_read() {
        assert_eq!(uptime("350735.47 234388.90\n"), Some(350_735_470));
        assert_eq!(uptime("0.05 0.00\n"), Some(50));
        assert_eq!(uptime("nonsense"), None);
        let first = up_ms();
        assert!(first > 0 && now_ms() > first);
    }
}
