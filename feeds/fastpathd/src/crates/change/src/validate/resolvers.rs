// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks `/etc/config/https-dns-proxy` and `/etc/config/stubby`. Their init scripts write these
//! values into a command line and a file without quoting them.

use super::Report;
use super::common::{is_address, is_host};

const PORTS: std::ops::RangeInclusive<u32> = 1..=65_535;

pub(super) fn judge_https(report: &mut Report<'_>) {
    for resolver in report.of("https-dns-proxy") {
        let expected = "a URL such as https://dns.example/dns-query";
        report.text(resolver, "resolver_url", expected, is_https);
        report.text(resolver, "bootstrap_dns", "IP addresses, separated by commas", |text| {
            text.split([',', ' ']).all(is_address)
        });
        report.text(resolver, "listen_addr", "an IP address", is_address);
        report.number(resolver, "listen_port", PORTS);
    }
}

pub(super) fn judge_stubby(report: &mut Report<'_>) {
    for resolver in report.of("resolver") {
        report.text(resolver, "address", "an IP address", is_address);
        report.text(resolver, "tls_auth_name", "a name of a host", is_host);
        report.number(resolver, "tls_port", PORTS);
    }
}

fn is_https(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://") else { return false };
    let (server, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = server.split_once(':').unwrap_or((server, "443"));
    let in_path = |c: u8| c.is_ascii_alphanumeric() || b"-._~/%?=&".contains(&c);
    is_host(host)
        && config::number(port).is_ok_and(|port| PORTS.contains(&port))
        && path.bytes().all(in_path)
}
