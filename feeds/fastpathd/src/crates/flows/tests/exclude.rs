// SPDX-License-Identifier: GPL-2.0-or-later
//! Flows that the configuration keeps on the slow path.

#![expect(clippy::expect_used, reason = "a test stops at the first surprise")]

mod support;

use config::Network;
use flows::EngineState;
use model::{Engine, Exclude, Ports};
use support::{TCP, UDP, address, at, dump, entry, only, tuple, verdict, watching, web};

fn network(text: &str) -> Network {
    text.parse().expect("a network")
}

#[test]
fn all_conditions_have_to_hold() {
    let web = entry(1, tuple(TCP, "10.10.0.2", 40_000, "192.0.2.80", 443));
    let whole = Exclude {
        name: String::new(),
        src: Some(network("10.10.0.0/16")),
        dest: Some(network("192.0.2.0/24")),
        proto: Some(TCP),
        src_port: Some(Ports { first: 40_000, last: 40_000 }),
        dest_port: Some(Ports { first: 400, last: 443 }),
    };
    let matches = |exclude: &Exclude| exclude.matches(&web.orig, &web.reply);
    assert!(matches(&whole));
    assert!(matches(&Exclude::default()), "no condition, every flow");
    assert!(!matches(&Exclude { src: Some(network("10.20.0.0/16")), ..whole.clone() }));
    assert!(!matches(&Exclude { dest: Some(network("192.0.3.0/24")), ..whole.clone() }));
    assert!(!matches(&Exclude { proto: Some(UDP), ..whole.clone() }));
    assert!(!matches(&Exclude {
        src_port: Some(Ports { first: 1, last: 39_999 }),
        ..whole.clone()
    }));
    assert!(!matches(&Exclude {
        dest_port: Some(Ports { first: 444, last: 500 }),
        ..whole.clone()
    }));
    assert!(!matches(&Exclude { src: Some(network("::/0")), ..whole }), "another family");
}

/// Our rules stand in the forward hook: destination NAT is done there, source NAT is not.
#[test]
fn the_real_ends_are_meant() {
    let mut nat = entry(1, tuple(TCP, "198.51.100.9", 5000, "100.64.0.1", 8443));
    (nat.reply.src, nat.reply.sport) = (address("10.20.0.80"), 443);
    (nat.reply.dst, nat.reply.dport) = (address("10.20.0.1"), 6000);
    let dest = |network: &str, port: u16| Exclude {
        dest: Some(self::network(network)),
        dest_port: Some(Ports { first: port, last: port }),
        ..Exclude::default()
    };
    assert!(dest("10.20.0.80/32", 443).matches(&nat.orig, &nat.reply));
    assert!(!dest("100.64.0.1/32", 443).matches(&nat.orig, &nat.reply));
    assert!(!dest("10.20.0.80/32", 8443).matches(&nat.orig, &nat.reply));
    let src = Exclude { src: Some(network("198.51.100.0/24")), ..Exclude::default() };
    assert!(src.matches(&nat.orig, &nat.reply));
}

#[test]
fn the_page_says_so() {
    let mut table = watching();
    dump(&mut table, 1.0, &[web(1)]);
    let exclude =
        Exclude { dest_port: Some(Ports { first: 443, last: 443 }), ..Exclude::default() };
    table.engine(
        EngineState { engine: Engine::Flowtable, excludes: vec![exclude], passed: [0; 2] },
        at(2.0),
    );
    assert_eq!(verdict(&only(&table, 2.0)), ("slow", "excluded"));
}
