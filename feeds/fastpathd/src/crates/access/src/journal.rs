// SPDX-License-Identifier: GPL-2.0-or-later
//! Lines about logins in the system log: socket `/dev/log`, facility auth, name `fastpath-access`.
//! Also how a user name from the network is escaped and shortened for such a line.

use std::os::unix::net::UnixDatagram;

/// Facility "auth" (4) of syslog, severity "warning" (4).
const WARNING: u8 = 4 * 8 + 4;
/// The same facility, severity "info" (6).
const INFO: u8 = 4 * 8 + 6;

/// A line about a problem.
pub(crate) fn warn(text: &str) {
    send(WARNING, text);
}

/// A line about normal operation.
pub(crate) fn info(text: &str) {
    send(INFO, text);
}

/// Without a log a login goes on all the same.
fn send(priority: u8, text: &str) {
    let line = format!("<{priority}>fastpath-access: {text}");
    if let Ok(socket) = UnixDatagram::unbound() {
        let _ = socket.send_to(line.as_bytes(), "/dev/log");
    }
}

/// A name from the network, made fit for a line of the log.
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
    fn a_name_stays_in_its_line() {
        assert_eq!(spelled("root"), "root");
        assert_eq!(spelled("a\nb\u{202e}c"), "a\\nb\\u{202e}c");
        assert_eq!(spelled(&"x".repeat(40)), format!("{}…", "x".repeat(32)));
    }
}
