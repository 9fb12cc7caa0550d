// SPDX-License-Identifier: GPL-2.0-or-later
//! Fuzz targets: parsers of `/proc` files about the page's clients, and the checks of a draft.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::administrator::{self, Administrator};
use crate::cuts::cuts;
use crate::diff;
use crate::draft::Draft;
use crate::exposes::exposes;
use crate::validate::{Validators, problems};

/// Parses `text` as `/proc/net/tcp`, `/proc/net/arp`, output of `ip neigh`, `/etc/config/uhttpd`
/// and `brforward`. Returns the number of connections.
#[must_use]
pub fn clients(text: &str) -> usize {
    administrator::parse_all(text)
}

/// Checks a draft without running a program. Returns the number of results.
#[must_use]
pub fn judge(draft: &Draft) -> usize {
    let administrator = |client: &str, router: &str, device: &str, link: &str| {
        let address = |text: &str| text.parse().unwrap_or(IpAddr::from([10, 10, 10, 1]));
        let (device, link) = (Some(device.to_owned()), Some(link.to_owned()));
        let (client, router) = (address(client), address(router));
        Administrator { client, router, port: 80, device, link, point: Some("home".to_owned()) }
    };
    let administrators = [
        administrator("10.10.10.10", "10.10.10.1", "br-lan.10", "lan1"),
        administrator("fd00::10", "fd00::1", "br-lan", "lan2"),
    ];
    let problems = problems(draft, &Validators::default());
    let found = cuts(draft, &administrators).len() + exposes(draft, &BTreeSet::from([22])).len();
    found + problems.len() + diff::text(&diff::lines(draft)).len()
}
