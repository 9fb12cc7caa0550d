// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/system` and the logins of `/etc/config/rpcd`.

use std::collections::BTreeSet;

use super::Report;
use super::common::{is_host, is_label};

pub(super) fn judge(report: &mut Report<'_>) {
    for system in report.of("system") {
        report.text(system, "hostname", "a name of letters, digits and -", is_label);
        report.number(system, "log_size", 0..=1_048_576);
        report.number(system, "conloglevel", 1..=8);
        report.number(system, "cronloglevel", 0..=9);
        report.text(system, "log_ip", "an address", super::common::is_address);
        report.number(system, "log_port", 1..=65535);
        report.text(system, "timezone", "a time zone such as CET-1CEST,M3.5.0,M10.5.0/3", |text| {
            !text.is_empty() && text.bytes().all(|c| c.is_ascii_graphic())
        });
    }
    for time in report.of("timeserver") {
        report.each(time, "server", "a name or address of a host", |text| {
            is_host(text) || super::common::is_address(text)
        });
        report.switches(time, &["enabled", "enable_server", "use_dhcp"]);
    }
}

/// Checks logins. A password is a hash, `$p$NAME` for the system's password of a user, or plain
/// text, which would be readable in backups.
pub(super) fn judge_logins(report: &mut Report<'_>) {
    let mut names = BTreeSet::new();
    for login in report.of("login") {
        let name = login.text("username").unwrap_or_default();
        if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c == ':') {
            report.wrong(login, "username", name, "a name of a user");
        } else if !names.insert(name) {
            let text = format!("there is another login of '{}'", name.escape_debug());
            report.note(login, "username", "duplicate", &[("value", name)], &text);
        }
        if !login.text("password").is_some_and(|password| password.starts_with('$')) {
            let text = "is neither a hash nor $p$ and a user of the system's";
            report.note(login, "password", "plain-password", &[], text);
        }
    }
}
