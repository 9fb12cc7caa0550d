// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps a connection on the slow path if a connection with the same tuple has just ended. The
//! ended flowtable entry lasts up to a second and hides a new entry with its tuple, which would
//! miss the end of its connection. It would then forward the next connection past conntrack, which
//! drops the FIN.

use crate::rules::{Chain, Rule};

/// Sets of tuples before NAT, each with the header of its addresses.
pub(crate) const SETS: [(&str, &str); 2] = [("ended_4", "ip"), ("ended_6", "ip6")];

/// Returns a packet's tuple, the element of a set.
pub(crate) fn tuple(header: &str) -> String {
    format!("{header} saddr . tcp sport . {header} daddr . tcp dport")
}

const NOTES: &str = "ended";

/// Returns a rule and a chain that record the tuples of ending connections. Dropped packets do not
/// count, because the other end keeps its connection.
pub(super) fn note() -> (Rule, Chain) {
    let rules = SETS.into_iter().flat_map(|(set, header)| {
        let family = family(header);
        let note = |of: &str, tuple: String| {
            let text =
                format!("meta nfproto {family} meta l4proto tcp {of}update @{set} {{ {tuple} }}");
            Rule::new(text, "its entry may still be in the flowtable")
        };
        // Packets without a connection are not translated, so their own tuple applies.
        let untracked = note("ct state { invalid, untracked } ", tuple(header));
        DIRECTIONS
            .map(|direction| note("", known(direction, header)))
            .into_iter()
            .chain([untracked])
    });
    let chain = Chain {
        name: NOTES,
        comment: "!fastpath: tuples of TCP connections that end",
        hook: None,
        rules: rules.collect(),
    };
    let text = format!("tcp flags & (fin | rst) != 0 jump {NOTES}");
    (Rule::new(text, "ends a connection"), chain)
}

pub(super) fn waits() -> impl Iterator<Item = Rule> {
    SETS.into_iter().flat_map(|(set, header)| {
        let family = family(header);
        DIRECTIONS.map(|direction| {
            let tuple = known(direction, header);
            let text = format!("meta nfproto {family} meta l4proto tcp {tuple} @{set} return");
            Rule::new(text, "one of the same tuple has just ended")
        })
    })
}

const DIRECTIONS: [&str; 2] = ["original", "reply"];

fn known(direction: &str, header: &str) -> String {
    let ct = |key: &str| format!("ct {direction} {key}");
    let address = |end: &str| ct(&format!("{header} {end}"));
    let [from, to] = [address("saddr"), address("daddr")];
    format!("{from} . {} . {to} . {}", ct("proto-src"), ct("proto-dst"))
}

fn family(header: &str) -> &'static str {
    if header == "ip" { "ipv4" } else { "ipv6" }
}
