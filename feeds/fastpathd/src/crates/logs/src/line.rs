// SPDX-License-Identifier: GPL-2.0-or-later
//! The name of the router in an event that is handed on.

use ips::EventLine;

/// Writes the event into `out`, with the member `host` that Suricata itself writes where it has a
/// `sensor-name`: events of many routers arrive in one place.
pub(crate) fn write(line: &EventLine, host: Option<&str>, out: &mut Vec<u8>) {
    match (host, line.text.split_first()) {
        (Some(host), Some((b'{', rest))) => {
            out.extend(b"{\"host\":\"");
            out.extend(host.as_bytes());
            out.extend(if rest == b"}" { &b"\""[..] } else { &b"\","[..] });
            out.extend(rest);
        }
        _ => out.extend(&*line.text),
    }
}

/// The router's name, if syslog and JSON can have it unchanged.
#[must_use]
pub fn host_name(text: &str) -> Option<&str> {
    let name = text.trim();
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    ((1..=255).contains(&name.len()) && name.bytes().all(usual)).then_some(name)
}

#[cfg(test)]
mod tests {
    use ips::EventKind;
    use serde_json::{Value, json};

    use super::*;

    fn written(text: &str, host: Option<&str>) -> Value {
        let mut out = Vec::new();
        let line = EventLine { kind: EventKind::Alert, text: text.as_bytes().into() };
        write(&line, host, &mut out);
        serde_json::from_slice(&out).expect(text)
    }

    #[test]
    fn the_router_is_named_in_the_object() {
        assert_eq!(written(r#"{"a":1}"#, Some("gw1")), json!({"host": "gw1", "a": 1}));
        assert_eq!(written("{}", Some("gw1")), json!({"host": "gw1"}));
        assert_eq!(written(r#"{"a":1}"#, None), json!({"a": 1}));
    }

    #[test]
    fn a_name_needs_no_escapes() {
        assert_eq!(host_name("gw-1.example\n"), Some("gw-1.example"));
        for bad in ["", "\n", "a b", "a\"b", "ä", &"a".repeat(256)] {
            assert_eq!(host_name(bad), None, "{bad}");
        }
    }
}
