// SPDX-License-Identifier: GPL-2.0-or-later
//! Syslog messages (RFC 5424) for streams: with octet counting (RFC 6587), as over TLS (RFC 5425).

use ips::{EventKind, EventLine};

use crate::line::write;

/// Facility of system daemons (RFC 5424, table 1).
const DAEMON: u8 = 3;

/// Writes one message into `out`.
pub fn message(line: &EventLine, host: Option<&str>, out: &mut Vec<u8>) {
    let mut body = header(line, host).into_bytes();
    write(line, host, &mut body);
    out.clear();
    out.extend(body.len().to_string().bytes());
    out.push(b' ');
    out.append(&mut body);
}

/// Returns the header, including empty structured data (RFC 5424, section 6.2).
fn header(line: &EventLine, host: Option<&str>) -> String {
    let priority = DAEMON * 8 + severity(line.kind);
    let time = time_of(&line.text);
    let (host, kind) = (host.unwrap_or("-"), line.kind.name());
    format!("<{priority}>1 {} {host} suricata - {kind} - ", time.as_deref().unwrap_or("-"))
}

/// Returns the severity: 4 warning, 5 notice or 6 informational.
fn severity(kind: EventKind) -> u8 {
    match kind {
        EventKind::Alert => 4,
        EventKind::Drop => 5,
        EventKind::Tls | EventKind::Quic | EventKind::Flow | EventKind::Stats => 6,
    }
}

/// Returns the timestamp of an event, with the colon in the offset that RFC 5424 requires and
/// Suricata omits.
fn time_of(text: &[u8]) -> Option<String> {
    const KEY: &[u8] = b"\"timestamp\":\"";
    const FORM: &[u8] = b"0000-00-00T00:00:00.000000+0000";
    let at = text.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let time = text.get(at..at + FORM.len())?;
    let alike = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'+' => b"+-".contains(byte),
        _ => byte == form,
    };
    if !time.iter().zip(FORM).all(alike) {
        return None;
    }
    let time = std::str::from_utf8(time).ok()?;
    let (clock, minutes) = time.split_at(time.len() - 2);
    Some(format!("{clock}:{minutes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: EventKind, text: &str, host: Option<&str>) -> String {
        let mut out = b"before".to_vec();
        message(&EventLine { kind, text: text.as_bytes().into() }, host, &mut out);
        let text = String::from_utf8(out).expect("UTF-8");
        let (length, body) = text.split_once(' ').expect("a length");
        assert_eq!(length, body.len().to_string());
        body.to_owned()
    }

    #[test]
    fn formats_a_message_of_rfc_5424() {
        let alert = r#"{"timestamp":"2026-11-21T07:38:12.977265+0100","event_type":"alert"}"#;
        let rest = &alert[1..];
        assert_eq!(
            written(EventKind::Alert, alert, Some("gw1")),
            format!(
                "<28>1 2026-11-21T07:38:12.977265+01:00 gw1 suricata - alert - \
                 {{\"host\":\"gw1\",{rest}"
            )
        );
        assert_eq!(
            written(EventKind::Flow, "{\"a\":\"\u{e4}\"}", None),
            "<30>1 - - suricata - flow - {\"a\":\"\u{e4}\"}"
        );
    }

    #[test]
    fn omits_invalid_timestamps() {
        for text in [
            r#"{"timestamp":"2026-11-21 07:38:12.977265+0100"}"#,
            r#"{"timestamp":"2026-11-21T07:38:12.977265+01"}"#,
            r#"{"timestamp":"20261-1-21T07:38:12.977265+0100"}"#,
            r#"{"timestamp":""}"#,
            "{}",
        ] {
            assert_eq!(time_of(text.as_bytes()), None, "{text}");
        }
        let west = time_of(br#"{"timestamp":"2026-11-21T07:38:12.977265-0330"}"#);
        assert_eq!(west.as_deref(), Some("2026-11-21T07:38:12.977265-03:30"));
    }
}
