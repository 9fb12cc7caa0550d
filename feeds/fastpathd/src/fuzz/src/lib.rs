// SPDX-License-Identifier: GPL-2.0-or-later
//! Fuzz targets for parsers of untrusted bytes. A target must not panic, and checks invariants of
//! its crate. `corpus/NAME` has its inputs.

mod bus;
mod configuration;
mod kernel;
mod router;
mod rules;
mod suricata;

pub type Target = fn(&[u8]);

pub const TARGETS: &[(&str, Target)] = &[
    ("archive", rules::archive),
    ("blobmsg", bus::blobmsg),
    ("command", suricata::command),
    ("ctnetlink", kernel::ctnetlink),
    ("doctor", router::doctor),
    ("edits", configuration::edits),
    ("eve", suricata::eve),
    ("leases", router::leases),
    ("login", bus::login),
    ("netifd", bus::netifd),
    ("netlink", kernel::netlink),
    ("nft", router::nft),
    ("proc", router::proc),
    ("queues", suricata::queues),
    ("request", bus::request),
    ("rtnetlink", kernel::rtnetlink),
    ("rules", rules::lines),
    ("settings", configuration::settings),
    ("uci", configuration::uci),
    ("update", rules::update),
];

/// Returns the target with this name, at compile time.
///
/// # Panics
/// Panics if there is no such target.
#[must_use]
pub const fn target(name: &str) -> Target {
    let mut at = 0;
    while at < TARGETS.len() {
        if same(TARGETS[at].0.as_bytes(), name.as_bytes()) {
            return TARGETS[at].1;
        }
        at += 1;
    }
    panic!("no target of this name")
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Splits a text into parts that begin with a line `== NAME`. Text before the first one has no
/// name.
fn parts(text: &str) -> Vec<(&str, &str)> {
    let (first, named) = text.split_at(text.find("== ").unwrap_or(text.len()));
    let named = named.split("== ").skip(1).map(|part| part.split_once('\n').unwrap_or((part, "")));
    std::iter::once(("", first)).chain(named).collect()
}

fn object(text: &str) -> Option<plugin::Map> {
    serde_json::from_str(text).ok()
}
