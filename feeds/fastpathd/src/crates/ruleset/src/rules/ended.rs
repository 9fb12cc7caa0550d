// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps a connection on the slow path if another one of its tuple has just ended. The flowtable
//! keeps an ended entry for up to a second, where it hides a new one of the same tuple: the new one
//! would miss the end of its connection, and carry the next one past conntrack, which then drops
//! the FIN of that one.

use crate::rules::{Chain, Rule};

/// The sets of tuples, as packets arrive, and the header with their addresses.
pub(crate) const SETS: [(&str, &str); 2] = [("ended_4", "ip"), ("ended_6", "ip6")];

/// The elements of a set.
pub(crate) fn tuple(header: &str) -> String {
    format!("{header} saddr . tcp sport . {header} daddr . tcp dport")
}

/// The chain that notes tuples.
const NOTES: &str = "ended";

/// Notes the tuples of packets that end a connection. One that a rule drops ends none: the other
/// end still has the connection.
pub(super) fn note() -> (Rule, Chain) {
    let rules = SETS.into_iter().flat_map(|(set, header)| {
        let family = family(header);
        let note = |of: &str, tuple: String| {
            let text =
                format!("meta nfproto {family} meta l4proto tcp {of}update @{set} {{ {tuple} }}");
            Rule::new(text, "its entry may still be in the flowtable")
        };
        // Without a connection there is no NAT: the packet has the addresses that it arrived with.
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

/// The rules that wait until the flowtable has dropped an ended entry.
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

/// The tuple of the connection in this direction.
fn known(direction: &str, header: &str) -> String {
    let ct = |key: &str| format!("ct {direction} {key}");
    let address = |end: &str| ct(&format!("{header} {end}"));
    let [from, to] = [address("saddr"), address("daddr")];
    format!("{from} . {} . {to} . {}", ct("proto-src"), ct("proto-dst"))
}

fn family(header: &str) -> &'static str {
    if header == "ip" { "ipv4" } else { "ipv6" }
}
