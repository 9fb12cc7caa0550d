// SPDX-License-Identifier: GPL-2.0-or-later
//! Adds the router's name to exported events.

use ips::EventLine;

/// Writes the event into `out` and adds the member `host`, as Suricata does for `sensor-name`, so
/// that a collector can distinguish routers.
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

/// Returns the trimmed host name, if it needs no escapes in syslog and JSON.
#[must_use]
pub fn host_name(text: &str) -> Option<&str> {
    let name = text.trim();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    ((1..=255).contains(&name.len()) && name.bytes().all(allowed)).then_some(name)
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
    fn adds_the_router_name_to_the_event() {
        assert_eq!(written(r#"{"a":1}"#, Some("gw1")), json!({"host": "gw1", "a": 1}));
        assert_eq!(written("{}", Some("gw1")), json!({"host": "gw1"}));
        assert_eq!(written(r#"{"a":1}"#, None), json!({"a": 1}));
    }

    #[test]
    fn rejects_host_names_that_need_escapes() {
        assert_eq!(host_name("gw-1.example\n"), Some("gw-1.example"));
        for bad in ["", "\n", "a b", "a\"b", "ä", &"a".repeat(256)] {
            assert_eq!(host_name(bad), None, "{bad}");
        }
    }
}
