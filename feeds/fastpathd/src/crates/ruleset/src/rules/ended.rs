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

/// Notes tuples before any rule can drop the packet, which has already ended an entry.
pub(super) fn chain() -> Chain {
    let note = |(set, header): (&str, &str)| {
        let family = family(header);
        let text = format!(
            "meta nfproto {family} tcp flags & (fin | rst) != 0 update @{set} {{ {} }}",
            tuple(header)
        );
        Rule::new(text, "ends a connection")
    };
    Chain {
        name: "ended",
        comment: "!fastpath: TCP connections that end",
        hook: Some(("prerouting", "raw")),
        rules: SETS.map(note).into(),
    }
}

/// The rules that wait until the flowtable has dropped an ended entry.
pub(super) fn waits() -> impl Iterator<Item = Rule> {
    SETS.into_iter().flat_map(|(set, header)| {
        let family = family(header);
        ["original", "reply"].map(|direction| {
            let ct = |key: &str| format!("ct {direction} {key}");
            let address = |end: &str| ct(&format!("{header} {end}"));
            let text = format!(
                "meta nfproto {family} meta l4proto tcp {} . {} . {} . {} @{set} return",
                address("saddr"),
                ct("proto-src"),
                address("daddr"),
                ct("proto-dst")
            );
            Rule::new(text, "one of the same tuple has just ended")
        })
    })
}

fn family(header: &str) -> &'static str {
    if header == "ip" { "ipv4" } else { "ipv6" }
}
