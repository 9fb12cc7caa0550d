// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps a connection on the slow path if another one with its tuple has just ended. The flowtable
//! keeps an ended entry for up to a second, and it hides a new entry with the same tuple: the new
//! entry would miss the end of its connection and forward the next connection past conntrack, which
//! then drops the FIN of that connection.

use crate::rules::{Chain, Rule};

/// Sets of tuples as packets have them on arrival, and the header with the addresses.
pub(crate) const SETS: [(&str, &str); 2] = [("ended_4", "ip"), ("ended_6", "ip6")];

/// Returns the tuple of a packet, which is the element of a set.
pub(crate) fn tuple(header: &str) -> String {
    format!("{header} saddr . tcp sport . {header} daddr . tcp dport")
}

/// Chain that records tuples.
const NOTES: &str = "ended";

/// Records the tuples of packets that end a connection. A packet that a rule drops ends none,
/// because the other end keeps the connection.
pub(super) fn note() -> (Rule, Chain) {
    let rules = SETS.into_iter().flat_map(|(set, header)| {
        let family = family(header);
        let note = |of: &str, tuple: String| {
            let text =
                format!("meta nfproto {family} meta l4proto tcp {of}update @{set} {{ {tuple} }}");
            Rule::new(text, "its entry may still be in the flowtable")
        };
        // Without a connection there is no NAT, so the packet has the addresses it arrived with.
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

/// Returns rules that wait until the flowtable has dropped an ended entry.
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

/// Returns the tuple of the connection in this direction.
fn known(direction: &str, header: &str) -> String {
    let ct = |key: &str| format!("ct {direction} {key}");
    let address = |end: &str| ct(&format!("{header} {end}"));
    let [from, to] = [address("saddr"), address("daddr")];
    format!("{from} . {} . {to} . {}", ct("proto-src"), ct("proto-dst"))
}

fn family(header: &str) -> &'static str {
    if header == "ip" { "ipv4" } else { "ipv6" }
}
