// SPDX-License-Identifier: GPL-2.0-or-later

/// Formats a rate such as `1.2 Gbit/s`, in powers of 1000.
pub(crate) fn rate(bps: i64) -> String {
    scaled(bps, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
}

/// Formats a size such as `1.2 GB`, in powers of 1000.
pub(crate) fn size(bytes: i64) -> String {
    scaled(bytes, &["B", "kB", "MB", "GB", "TB", "PB"])
}

fn scaled(value: i64, units: &[&str]) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are printed")]
    let mut rest = value.max(0) as f64;
    let mut at = 0;
    // 999.95 would be displayed as 1000.0.
    while rest >= 999.95 && at + 1 < units.len() {
        rest /= 1000.0;
        at += 1;
    }
    if at == 0 { format!("{rest:.0} {}", units[at]) } else { format!("{rest:.1} {}", units[at]) }
}

/// Formats a duration as `5s`, `3m12s`, `2h05m` or `4d03h`.
pub(crate) fn duration(seconds: i64) -> String {
    let s = seconds.max(0);
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d{:02}h", s / 86400, s % 86400 / 3600),
    }
}

/// Formats a share as `97.3 %`, or `–` without a measurement.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |s| format!("{:.1} %", s * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_units_at_a_thousand() {
        assert_eq!(rate(0), "0 bit/s");
        assert_eq!(rate(999), "999 bit/s");
        assert_eq!(rate(1000), "1.0 kbit/s");
        assert_eq!(rate(999_949), "999.9 kbit/s");
        assert_eq!(rate(999_950), "1.0 Mbit/s");
        assert_eq!(size(1_234_567_890), "1.2 GB");
        assert_eq!(size(-5), "0 B");
        assert_eq!(size(i64::MAX), "9223.4 PB");
    }

    #[test]
    fn formats_durations_with_two_units() {
        assert_eq!(duration(59), "59s");
        assert_eq!(duration(60), "1m00s");
        assert_eq!(duration(3599), "59m59s");
        assert_eq!(duration(7500), "2h05m");
        assert_eq!(duration(90000), "1d01h");
    }

    #[test]
    fn formats_an_unknown_share_as_a_dash() {
        assert_eq!(percent(None), "–");
        assert_eq!(percent(Some(0.973)), "97.3 %");
    }
}
