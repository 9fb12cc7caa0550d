// SPDX-License-Identifier: GPL-2.0-or-later

use std::net::SocketAddr;

use ipfix::{EndReason, Ends, Flow, Protocol, Queue, Settings};

pub(super) fn settings(protocol: Protocol, collector: SocketAddr) -> Settings {
    Settings {
        name: "store".to_owned(),
        enabled: true,
        protocol,
        collector,
        interface: None,
        active_timeout: 60,
        idle_timeout: 15,
        template_refresh: 1,
        domain: 7,
        enterprise: 32473,
    }
}

pub(super) fn queue(records: u64) -> Queue {
    let ends = Ends {
        src: "10.10.10.10".parse().unwrap(),
        dst: "203.0.113.1".parse().unwrap(),
        sport: 40_000,
        dport: 80,
    };
    let mut queue = Queue::new();
    for id in 0..records {
        queue.push(&Flow {
            start_ms: 1,
            end_ms: 2,
            octets: [1, 2],
            packets: [1, 2],
            offloaded: 0,
            protocol: 6,
            sent: ends,
            received: ends,
            end_reason: EndReason::End,
            interfaces: [5, 8],
            vlans: [10, 0],
            id,
            path: "slow",
            reason: "closing",
            inspection: "none",
            zones: ["lan", "wan"],
        });
    }
    queue
}
