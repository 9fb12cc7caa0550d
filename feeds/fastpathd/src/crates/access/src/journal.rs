// SPDX-License-Identifier: GPL-2.0-or-later
//! Messages about logins in the system log, over `/dev/log` with facility auth.

use std::os::unix::net::UnixDatagram;

// syslog priorities (RFC 5424): facility × 8 + severity.
const WARNING: u8 = 4 * 8 + 4;
const INFO: u8 = 4 * 8 + 6;

pub(crate) fn warn(text: &str) {
    send(WARNING, text);
}

pub(crate) fn info(text: &str) {
    send(INFO, text);
}

/// Sends a message. Ignores errors, because a login must work without a log.
fn send(priority: u8, text: &str) {
    let line = format!("<{priority}>fastpath-access: {text}");
    if let Ok(socket) = UnixDatagram::unbound() {
        let _ = socket.send_to(line.as_bytes(), "/dev/log");
    }
}

/// Escapes a name from the network and truncates it to 32 characters.
pub(crate) fn spelled(name: &str) -> String {
    let mut text: String = name.chars().take(32).flat_map(char::escape_default).collect();
    if name.chars().count() > 32 {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_shortens_a_name_for_the_log() {
        assert_eq!(spelled("root"), "root");
        assert_eq!(spelled("a\nb\u{202e}c"), "a\\nb\\u{202e}c");
        assert_eq!(spelled(&"x".repeat(40)), format!("{}…", "x".repeat(32)));
    }
}
